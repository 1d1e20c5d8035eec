"""An OpenID provider that others wrote, on this machine, and a person's browser that signs in there."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urljoin

import httpx2

FOLDER = Path("/opt/openid")
NODE = Path("/opt/node/22/bin/node")
CLIENT, SECRET, PAGE = "fleet", "a-secret-of-the-tests", "http://localhost:7700"
_FORM = re.compile(r'action="([^"]+)"')


@asynccontextmanager
async def real_provider(page: str = PAGE) -> AsyncIterator[str]:
    """The issuer of a provider that knows the fleet at a page."""
    client = {"client_id": CLIENT, "client_secret": SECRET, "redirect_uris": [f"{page}/oidc/callback"]}
    client |= {"post_logout_redirect_uris": [f"{page}/"]}
    script = str(Path(__file__).with_name("provider.mjs"))
    program = await asyncio.create_subprocess_exec(
        str(NODE), script, str(FOLDER), json.dumps({"clients": [client]}), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert program.stdout
        async with asyncio.timeout(30):
            port = int(await program.stdout.readline())
        yield f"http://127.0.0.1:{port}"
    finally:
        program.kill()
        await program.wait()


async def signed_in(url: str, name: str) -> str:
    """Sign in at the provider's pages as somebody, consent, and give the URL that the provider sends the browser back to."""
    async with httpx2.AsyncClient(timeout=30) as browser:
        answer = await browser.get(url)
        for _ in range(12):
            if answer.is_redirect:
                url = urljoin(str(answer.url), answer.headers["location"])
                if url.startswith(PAGE):
                    return url
                answer = await browser.get(url)
            else:
                form = _FORM.search(answer.text)
                assert form, answer.text[:2000]
                is_login = 'name="login"' in answer.text
                sent = {"prompt": "login", "login": name, "password": "any"} if is_login else {"prompt": "consent"}
                answer = await browser.post(urljoin(str(answer.url), form[1]), data=sent)
    raise AssertionError("the provider did not send the browser back")
