"""The routes of a front as rules of a listener."""

from collections.abc import Sequence

from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from constructs import Construct

from llm_fleet.rules.inference.routes import Answer, Route, RouteAction
from llm_fleet.spec.front import Jwt

_JSON = "application/json"


class ListenerRules(Construct):
    """One rule for each route."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        listener_arn: str,
        target_group_arn: str,
        routes: Sequence[Route],
        jwt: Jwt | None,
    ) -> None:
        """Make them; `jwt`: whose tokens a route that validates them takes."""
        super().__init__(scope, id)
        self._target_group_arn = target_group_arn
        self._jwt = jwt
        self.rules = [
            elbv2.CfnListenerRule(
                self,
                route.name,
                listener_arn=listener_arn,
                priority=route.priority,
                conditions=_conditions(route),
                actions=self._actions(route),
            )
            for route in routes
        ]
        """In order of priority."""

    def _actions(self, route: Route) -> list[elbv2.CfnListenerRule.ActionProperty]:
        if route.answer is not None:
            return [
                elbv2.CfnListenerRule.ActionProperty(
                    type="fixed-response",
                    fixed_response_config=elbv2.CfnListenerRule.FixedResponseConfigProperty(
                        status_code=str(route.answer.status), content_type=_JSON, message_body=route.answer.body
                    ),
                )
            ]
        if route.action is RouteAction.FORWARD:
            return [elbv2.CfnListenerRule.ActionProperty(type="forward", target_group_arn=self._target_group_arn)]
        assert self._jwt is not None  # check_front asked for it
        return [
            elbv2.CfnListenerRule.ActionProperty(
                type="jwt-validation", order=1, jwt_validation_config=_jwt_validation(self._jwt)
            ),
            elbv2.CfnListenerRule.ActionProperty(type="forward", order=2, target_group_arn=self._target_group_arn),
        ]


def default_answer(answer: Answer) -> elbv2.CfnListener.ActionProperty:
    """Return the default action of a listener: what no rule fits gets `answer`."""
    return elbv2.CfnListener.ActionProperty(
        type="fixed-response",
        fixed_response_config=elbv2.CfnListener.FixedResponseConfigProperty(
            status_code=str(answer.status), content_type=_JSON, message_body=answer.body
        ),
    )


def _conditions(route: Route) -> list[elbv2.CfnListenerRule.RuleConditionProperty]:
    conditions = [
        elbv2.CfnListenerRule.RuleConditionProperty(
            field="path-pattern",
            path_pattern_config=elbv2.CfnListenerRule.PathPatternConfigProperty(values=list(route.paths)),
        )
    ]
    if route.methods:
        conditions.append(
            elbv2.CfnListenerRule.RuleConditionProperty(
                field="http-request-method",
                http_request_method_config=elbv2.CfnListenerRule.HttpRequestMethodConfigProperty(
                    values=list(route.methods)
                ),
            )
        )
    conditions += [
        elbv2.CfnListenerRule.RuleConditionProperty(
            field="http-header",
            http_header_config=elbv2.CfnListenerRule.HttpHeaderConfigProperty(
                http_header_name=header, values=[pattern]
            ),
        )
        for header, pattern in route.headers
    ]
    return conditions


def _jwt_validation(jwt: Jwt) -> elbv2.CfnListenerRule.JwtValidationConfigProperty:
    return elbv2.CfnListenerRule.JwtValidationConfigProperty(
        issuer=jwt.issuer,
        jwks_endpoint=jwt.jwks_endpoint,
        additional_claims=[
            elbv2.CfnListenerRule.JwtValidationActionAdditionalClaimProperty(
                name=claim.name, values=list(claim.values), format=claim.format.value
            )
            for claim in jwt.claims
        ]
        or None,
    )
