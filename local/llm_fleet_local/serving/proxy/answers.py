"""Responses of the load balancer itself.

Source: assumption load-balancer-jwt-open-ends
"""

from http import HTTPStatus
from typing import Any

from aiohttp import web

from llm_fleet_local.serving.template.front import Action

_SERVER = {"Server": "awselb/2.0"}


def own_error(status: int) -> web.Response:
    """Return an error of the load balancer, e.g. 503 without targets."""
    phrase = f"{status} {HTTPStatus(status).phrase}"
    text = f"<html>\r\n<head><title>{phrase}</title></head>\r\n<body>\r\n<h1>{phrase}</h1>\r\n</body>\r\n</html>\r\n"
    return web.Response(status=status, text=text, content_type="text/html", headers=_SERVER)


def fixed_response(action: Action) -> web.Response:
    """Return the response of a fixed-response action."""
    settings = action.settings
    return web.Response(
        status=int(settings["StatusCode"]),
        text=settings.get("MessageBody", ""),
        content_type=settings.get("ContentType", "text/plain"),
        headers=_SERVER,
    )


def redirect(action: Action, *, protocol: str, host: str, port: int, path: str, query: str) -> web.Response:
    """Return the response of a redirect action; parts that it does not set stay as in the request."""
    words = {"protocol": protocol.upper(), "host": host, "port": str(port), "path": path.lstrip("/"), "query": query}

    def part(name: str, default: str) -> str:
        text: Any = action.settings.get(name, default)
        for word, value in words.items():
            text = text.replace(f"#{{{word}}}", value)
        return str(text)

    target = f"{part('Protocol', '#{protocol}').lower()}://{part('Host', '#{host}')}:{part('Port', '#{port}')}"
    target += part("Path", "/#{path}")
    requested = part("Query", "#{query}")
    status = int(str(action.settings["StatusCode"]).removeprefix("HTTP_"))
    headers = {**_SERVER, "Location": f"{target}?{requested}" if requested else target}
    return web.Response(status=status, headers=headers)
