"""Sign in to HashiCorp Vault as the sandbox: no secret of Vault's is in it.

Set up Vault once, with the issuer of `GET /v1/identity`:

    vault auth enable jwt
    vault write auth/jwt/config oidc_discovery_url=https://box.example.org
    vault write auth/jwt/role/sandbox role_type=jwt user_claim=sandbox_id bound_audiences=vault token_policies=build
"""

import os

import httpx

URL, KEY = os.environ["SANDBOX_URL"], os.environ["SANDBOX_API_KEY"]
VAULT, ROLE = os.environ["VAULT_ADDR"], os.environ.get("VAULT_ROLE", "sandbox")

asked = httpx.get(f"{URL}/v1/identity/token", params={"audience": "vault"}, headers={"Authorization": f"Bearer {KEY}"})
token = asked.raise_for_status().json()["data"]["token"]

signed_in = httpx.post(f"{VAULT}/v1/auth/jwt/login", json={"role": ROLE, "jwt": token})
auth = signed_in.raise_for_status().json()["auth"]
print("signed in as", auth["metadata"]["role"], "with", ", ".join(auth["policies"]), f"for {auth['lease_duration']} s")
