// An OpenID provider for the tests: `node provider.mjs FOLDER CONFIGURATION`, where npm put oidc-provider into FOLDER.
// It prints its port. Who signs in as NAME is NAME@example.org, in the groups that NAME names: ann-staff-night.
import { createServer } from "node:http";
import { join } from "node:path";

const [folder, text] = process.argv.slice(2);
const { Provider } = await import(join(folder, "node_modules/oidc-provider/lib/index.js"));
const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address();
const provider = new Provider(`http://127.0.0.1:${port}`, {
  ...JSON.parse(text),
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.org`, email_verified: true, groups: id.split("-").slice(1) }),
  }),
});
server.on("request", provider.callback());
console.log(port);
