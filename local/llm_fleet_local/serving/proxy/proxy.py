"""The load balancer: one local port per listener, rules by priority, targets by state.

Source: document https://docs.aws.amazon.com/elasticloadbalancing/latest/application/listener-rules.html (2026-11)
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from aiohttp import web
from multidict import CIMultiDict

from llm_fleet_local.serving.proxy.answers import fixed_response, own_error, redirect
from llm_fleet_local.serving.proxy.forwarding import end_to_end, forward
from llm_fleet_local.serving.proxy.health import watch_health
from llm_fleet_local.serving.proxy.rules import Requested, first_rule, normalized
from llm_fleet_local.serving.proxy.targets import Target, Targets
from llm_fleet_local.serving.proxy.tokens import Keys, TokenRefused, check_token
from llm_fleet_local.serving.template.front import Action, Listener, LoadBalancer

_HOST = "127.0.0.1"
_VALID_HEADER = re.compile(r"[-A-Za-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One request, as an access log has it."""

    method: str
    path: str
    status: int
    rule: str
    target: str | None
    """The target; `None` when the load balancer itself responded."""


class Proxy:
    """Serves a load balancer's listeners on loopback. Used from one event loop.

    HTTPS listeners use plain HTTP here; everything else is the same.
    """

    def __init__(
        self,
        front: LoadBalancer,
        *,
        time_scale: float = 1.0,
        keys: Mapping[str, Keys] | None = None,
        normalize_paths: bool = False,
    ) -> None:
        """Take the settings in the template.

        `keys`: key sets by the URL of their endpoint, in place of the issuers'. `normalize_paths`: compare rules with
        paths without dot segments and double slashes; targets get every path as it was sent, in both cases.
        """
        self._front = front
        self._scale = time_scale
        self._keys = keys or {}
        self._normalize = normalize_paths
        self._runners: list[web.ServerRunner] = []
        self._watches: set[asyncio.Task[None]] = set()
        self.targets = {name: Targets(group) for name, group in front.target_groups.items()}
        self.ports: dict[int, int] = {}
        """Local ports by listener port."""
        self.log: list[LogEntry] = []

    async def start(self, *, port: int = 0) -> None:
        """Listen. `port`: the local port of the listener that serves; 0 is any free one."""
        for listener in self._front.listeners:
            runner = web.ServerRunner(web.Server(lambda request, of=listener: self._handle(of, request)))
            await runner.setup()
            site = web.TCPSite(runner, _HOST, port if listener is self.serving else 0)
            await site.start()
            self._runners.append(runner)
            self.ports[listener.port] = int(runner.addresses[0][1])

    async def stop(self) -> None:
        """Stop listening, and close open connections."""
        for watch in self._watches:
            watch.cancel()
        for group in self.targets.values():
            for target in group.members:
                for task in list(target.requests):
                    task.cancel()
        for runner in self._runners:
            await runner.cleanup()

    @property
    def serving(self) -> Listener:
        """The listener that forwards to targets: of several, the one with the highest port (443 rather than 80)."""
        forwarding = [
            listener
            for listener in self._front.listeners
            if any(action.kind == "forward" for rule in listener.rules for action in rule.actions)
        ]
        return max(forwarding, key=lambda listener: listener.port)

    def register(self, group: str, target: Target) -> None:
        """Register a target in a target group, and check its health."""
        self.targets[group].register(target)
        watch = asyncio.ensure_future(watch_health(self.targets[group], target, time_scale=self._scale))
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)

    async def drain(self, group: str, target: Target) -> None:
        """Deregister a target, and wait for its deregistration delay."""
        await self.targets[group].drain(target, time_scale=self._scale)

    async def _handle(self, listener: Listener, request: web.BaseRequest) -> web.StreamResponse:
        rule = first_rule(listener, self._requested(request))

        def note(status: int, target: Target | None = None) -> None:
            name = target.name if target else None
            entry = LogEntry(method=request.method, path=request.raw_path, status=status, rule=rule.name, target=name)
            self.log.append(entry)

        for action in rule.actions:
            if action.kind == "forward":
                target = self.targets[action.target_group or ""].choose()
                if target is not None:
                    return await self._forward(listener, request, target, partial(note, target=target))
                response = own_error(503)
            else:
                response = self._own(listener, request, action)
            if response is not None:
                note(response.status)
                return response
        note(500)
        return own_error(500)

    def _requested(self, request: web.BaseRequest) -> Requested:
        path = request.raw_path.partition("?")[0]
        if not path.startswith("/"):
            path = request.rel_url.raw_path
        headers = {name.lower(): value for name, value in request.headers.items()}
        return Requested(method=request.method, path=normalized(path) if self._normalize else path, headers=headers)

    def _own(self, listener: Listener, request: web.BaseRequest, action: Action) -> web.Response | None:
        """Answer without a target; `None` goes on to the rule's next action."""
        if action.kind == "fixed-response":
            return fixed_response(action)
        if action.kind == "redirect":
            path, _, query = request.raw_path.partition("?")
            host = request.headers.get("Host", _HOST).partition(":")[0]
            return redirect(action, protocol=listener.protocol, host=host, port=listener.port, path=path, query=query)
        endpoint = action.settings["JwksEndpoint"]
        if endpoint not in self._keys:
            return own_error(500)
        try:
            check_token(request.headers.get("Authorization"), action.settings, self._keys[endpoint])
        except TokenRefused:
            return own_error(401)
        return None

    async def _forward(
        self, listener: Listener, request: web.BaseRequest, target: Target, answered: Callable[[int], None]
    ) -> web.StreamResponse:
        return await forward(
            request,
            target,
            path=request.raw_path if request.raw_path.startswith("/") else str(request.rel_url),
            headers=self._onward(listener, request),
            idle_seconds=self._front.idle_timeout * self._scale,
            answered=answered,
        )

    def _onward(self, listener: Listener, request: web.BaseRequest) -> CIMultiDict[str]:
        headers = end_to_end(request.headers)
        if self._front.drop_invalid_headers:
            for name in [name for name in headers if not _VALID_HEADER.fullmatch(name)]:
                del headers[name]
        headers["X-Forwarded-For"] = ", ".join(filter(None, (headers.get("X-Forwarded-For"), request.remote)))
        headers["X-Forwarded-Proto"] = listener.protocol.lower()
        headers["X-Forwarded-Port"] = str(listener.port)
        return headers
