"""Sends mail through the server in the settings."""

import asyncio
import smtplib
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

from sandbox_server.drivers.clients.webhook import SENDERS, DeliveryResult

TIMEOUT = 20.0
PORTS = {"smtps": 465, "smtp": 587, "smtp+plain": 25}


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server. `smtps` uses TLS from the start, `smtp` uses STARTTLS, `smtp+plain` uses no encryption."""

    scheme: str
    host: str
    port: int
    user: str
    password: str

    @classmethod
    def at(cls, url: str) -> "MailServer":
        """Parse a checked URL. The part before the @ is percent-encoded."""
        parts = urlsplit(url)
        port = parts.port or PORTS[parts.scheme]
        return cls(parts.scheme, parts.hostname or "", port, unquote(parts.username or ""), unquote(parts.password or ""))


async def send(server: MailServer, message: EmailMessage) -> DeliveryResult:
    """Send a mail once. The status is 250 if every recipient is accepted. Delivery errors are returned, not raised."""
    return await asyncio.get_running_loop().run_in_executor(SENDERS, _send, server, message)


def _send(server: MailServer, message: EmailMessage) -> DeliveryResult:
    try:
        with _connect(server) as connection:
            if server.scheme == "smtp":
                connection.starttls(context=ssl.create_default_context())
            if server.user:
                connection.login(server.user, server.password)
            refused = connection.send_message(message)
    except smtplib.SMTPResponseException as error:
        return DeliveryResult(error.smtp_code, _text(error.smtp_error))
    except (OSError, ValueError, smtplib.SMTPException) as error:
        return DeliveryResult(None, str(error)[:200] or type(error).__name__)
    for status, why in refused.values():
        return DeliveryResult(status, _text(why))
    return DeliveryResult(250, None)


def _connect(server: MailServer) -> smtplib.SMTP:
    if server.scheme == "smtps":
        return smtplib.SMTP_SSL(server.host, server.port, timeout=TIMEOUT, context=ssl.create_default_context())
    return smtplib.SMTP(server.host, server.port, timeout=TIMEOUT)


def _text(said: bytes | str) -> str:
    return (said.decode("utf-8", "replace") if isinstance(said, bytes) else said)[:200]
