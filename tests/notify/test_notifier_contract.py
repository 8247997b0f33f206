"""Every kind of notifier implements the plug-in contract and shows nothing of its address."""

from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from pi_appliance import plugins

EXAMPLES = {
    "apprise": {"url": "json://host/hush/${HOOK}"},
    "command": {"run": ["mail", "hush@example.org"]},
}

pytestmark = pytest.mark.contract


@pytest.mark.parametrize("kind", plugins.names("notifiers"))
def test_a_notifier_implements_the_contract(kind):
    module = plugins.load("notifiers", kind)
    hints = get_type_hints(module.Options, include_extras=True)
    assert all(get_args(hints[each.name])[1] for each in fields(module.Options)), "every option is described"
    options = module.Options(**EXAMPLES[kind])
    assert options.check() == []
    assert "hush" not in str(options)
    full = dict.fromkeys(options.names(), "x")
    assert module.missing_secrets(options, full) == ""
    assert bool(module.missing_secrets(options, {})) == bool(options.names())
    assert callable(module.connect(options, full).send)
