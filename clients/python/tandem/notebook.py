"""What a notebook shows of a sandbox."""

import base64
from html import escape

import httpx

from tandem.wire import Place

SECONDS = 5.0


def screen_html(place: Place) -> str:
    """A picture of the screen, with a link to the live page that signs one browser in, once; or a sentence that says why there is none."""
    try:
        with httpx.Client(base_url=place.url, headers=place.headers, timeout=SECONDS, trust_env=False) as http:
            picture = http.get("/v1/browser/screenshot", params={"format": "png"}).raise_for_status().content
            ticket = http.post("/tickets", json={"path_prefix": "/"}).raise_for_status().json()["ticket"]
    except httpx.HTTPError as error:
        return f"<p>{escape(place.url)} shows no screen: {escape(str(error) or type(error).__name__)}</p>"
    data = base64.b64encode(picture).decode()
    shown = f'<img alt="the screen" style="max-width: 100%" src="data:image/png;base64,{data}">'
    return f'<a href="{escape(place.url)}/view?ticket={escape(ticket)}" target="_blank">{shown}</a>'
