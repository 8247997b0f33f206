"""The JSON Schemas of the results of the operations on posts and networks."""

from collections.abc import Mapping

from pi_appliance.json_schema import ANY, FLAG, TEXT, WHOLE, Schema, describe, list_of, nullable, object_of, reference

_POST: Mapping[str, Schema] = {
    **dict.fromkeys(("id", "part", "parts", "attempts"), WHOLE),
    **dict.fromkeys(("job", "slot", "network", "text", "state", "cost"), TEXT),
}
_NETWORK_TEST: Mapping[str, Schema] = {
    "network": TEXT,
    "account": nullable(TEXT),
    "error": nullable(TEXT),
    "exit_status": describe(WHOLE, "0: accepted, 75: not reached, else: rejected"),
    "needs_secrets": FLAG,
}
SCHEMAS: Mapping[str, Schema] = {
    "Post": object_of(_POST, more=True),
    "Posts": object_of({"posts": list_of(reference("Post")), "counts": ANY, "months": list_of(ANY)}),
    "PostPreview": object_of({"slots": list_of(ANY), "cost": TEXT, "month": ANY}),
    "Networks": list_of(object_of({"network": TEXT, "kind": TEXT, "secrets": ANY})),
    "NetworkTests": list_of(object_of(_NETWORK_TEST)),
}
