"""The stable codes of alarms of clusters, who is told, and budgets. LF1180 to LF1199."""

from llm_fleet.rules.problem import AnyCode


class AlarmCode(AnyCode):
    """One mistake, one code. The string after the code says in short what it stands for."""

    MONITORING_THRESHOLD = "LF1180", "an alarm of a cluster that would always ring, or never"
    MONITORING_CLUSTER = "LF1181", "a cluster to be watched that the fleet does not have, or has twice"
    MONITORING_EMAIL = "LF1182", "somebody to be told whose e-mail address is none, or is there twice"
    MONITORING_CHAT = "LF1183", "a chat whose ids are of a form that they cannot have"
    MONITORING_RETENTION = "LF1184", "a number of days for which CloudWatch Logs keeps no log"
    FLEET_BUDGET_AMOUNT = "LF1185", "a budget of a fleet that is no sum of money"
    FLEET_BUDGET_SHARE = "LF1186", "shares of a fleet's budget that are none, too many, or twice"
    FLEET_BUDGET_TAG = "LF1187", "a budget that counts by a tag which the fleet does not bear"
    FLEET_BUDGET_ROLE = "LF1188", "a budget's action on a role that cannot be one"
    MONITORING_NAME = "LF1189", "a name that alarms, dashboard and chat cannot bear"
    NOTHING_WATCHED = "LF1190", "a monitoring without anything to watch"
