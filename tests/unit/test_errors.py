"""The tree of errors in the docstring is the tree of classes."""

import re

import pytest

from coterie import errors

CLASSES = {
    name: each for name, each in vars(errors).items() if isinstance(each, type) and each.__module__ == errors.__name__
}


def test_the_tree_in_the_docstring_is_that_of_the_classes():
    drawn = re.findall(r"^ *[│├└─ ]*?(\w+Error)\b", errors.__doc__, re.M)
    assert sorted(drawn) == sorted(CLASSES)
    assert re.search(r"├── InputError.*\n\s*│\s+├── NoRowsError.*\n\s*│\s+├── NotApplicableError", errors.__doc__)
    assert CLASSES["NotApplicableError"].__mro__[1] is CLASSES["InputError"]


@pytest.mark.parametrize("name", CLASSES)
def test_every_error_has_an_exit_code_that_the_command_line_documents(name):
    assert issubclass(CLASSES[name], errors.CoterieError)
    assert CLASSES[name].exit_code == {"BrokenPromiseError": 1, "NotCheckableError": 3, "InternalError": 70}.get(
        name, 2
    )
