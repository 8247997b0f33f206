"""Every kind of notice has what the rest asks of it, and shows nothing of where it sends to."""

from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from pi_appliance import plugins

EXAMPLES = {
    "apprise": {"url": "json://host/hush/${HOOK}"},
    "command": {"run": ["mail", "hush@example.org"]},
}


@pytest.mark.parametrize("kind", plugins.names("notices"))
def test_a_kind_of_notice_has_what_is_asked_of_it(kind):
    module = plugins.load("notices", kind)
    hints = get_type_hints(module.Options, include_extras=True)
    assert all(get_args(hints[each.name])[1] for each in fields(module.Options)), "every key is described"
    options = module.Options(**EXAMPLES[kind])
    assert options.check() == []
    assert "hush" not in str(options)
    full = dict.fromkeys(options.names(), "x")
    assert module.lacks(options, full) == ""
    assert bool(module.lacks(options, {})) == bool(options.names())
    assert callable(module.connect(options, full).send)
