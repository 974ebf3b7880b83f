"""The reference of scenario files names every field that the schema has, and no other."""

import re

import pytest

from dp_multiagent.models import scenarios
from dp_multiagent.models.scenarios.schema import schema


def fields(part, path=''):
    if part.get('type') == 'array' and 'properties' in part.get('items', {}):
        yield from fields(part['items'], f'{path}[]')
    elif 'properties' in part:
        for name, child in part['properties'].items():
            yield from fields(child, f'{path}.{name}' if path else name)
    else:
        yield path


@pytest.mark.parametrize('kind', scenarios.KINDS)
def test_reference_has_the_fields_of_the_schema(kind):
    docs = scenarios.share() / 'docs' / 'scenarios.md'
    sections = re.split(r'^## ', docs.read_text(), flags=re.MULTILINE)
    (section,) = [part for part in sections if part.startswith(f'`kind: {kind}`')]
    described = re.findall(r'^\| `([^`]+)` \|', section, flags=re.MULTILINE)
    assert described == list(fields(schema(scenarios.KINDS[kind])))
