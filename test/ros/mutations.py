"""Messages that nobody would send in good faith, made from sound ones; a seed gives them again."""

import copy
import json
import math
import random
import struct
from array import array

from rclpy.serialization import serialize_message

LONG = 3_000  # entries of an array that is too long
MOST_CHANGES = 3
CODES = {
    'double': 'd',
    'float': 'f',
    'int32': 'i',
    'uint64': 'Q',
    'uint32': 'I',
    'uint16': 'H',
    'uint8': 'B',
}
BLANK = {'string': '', 'double': math.nan, 'float': math.nan}
REALS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1e-300, 0.5, 1.0, -1.0]
REALS += [1.0 + 2**-52, 2.0**53, 1e20, -1e20]
LARGE_REALS = [1.7976931348623157e308, -1.7976931348623157e308, 1e200, 1e154]
TEXTS = [
    '',
    '\0',
    ' ',
    '/',
    '..',
    'a' * 5_000,
    '\u202e',
    '\U0001f980' * 40,
    'a\nb',
    '{}',
    '[' * 2_000,
]
TEXTS += ['9' * 5_000, 'NaN', '-1', 'robot1', 'robot2', 'robot9', '/dev/zero', '%s%n', '\x1b[2J']


class Mutator:
    """Changes messages field by field, or their bytes."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def message(self, sound):
        """Return a copy of a message with some fields changed."""
        message = copy.deepcopy(sound)
        for _ in range(self._random.randint(1, MOST_CHANGES)):
            self._change(message)
        return message

    def serialised(self, sound):
        """Return the bytes of a message, some of them changed, lost or added."""
        content = bytearray(serialize_message(sound))
        for _ in range(self._random.randint(1, MOST_CHANGES)):
            self._random.choice([self._overwrite, self._state_a_number, self._cut])(content)
        return bytes(content)

    def text(self, sound):
        """Return a JSON text with something in it changed."""
        if self._random.random() < 0.3:
            return self._damaged(sound)
        return json.dumps(self._changed_json(json.loads(sound)))

    def _change(self, message):
        types = message.get_fields_and_field_types()
        name = self._random.choice(sorted(types))
        setattr(message, name, self._value(types[name], getattr(message, name)))

    def _value(self, kind, now):
        if hasattr(now, 'get_fields_and_field_types'):
            self._change(now)
            return now
        if kind.startswith('sequence<'):
            return self._sequence(kind.removeprefix('sequence<').removesuffix('>'), now)
        if kind.endswith(']'):
            return self._fixed(kind.partition('[')[0], now)
        if kind == 'string':
            return self._random.choice(TEXTS)
        return self._number(kind, now)

    def _number(self, kind, now):
        if kind == 'boolean':
            return not now
        if kind in ('float', 'double'):
            return self._random.choice(REALS + LARGE_REALS * (kind == 'double'))
        bits = int(kind.lstrip('uint'))
        least, most = (
            (0, 2**bits - 1) if kind.startswith('u') else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        near = [
            now - 1,
            now + 1,
            now ^ 1,
            0,
            1,
            2,
            least,
            most,
            most - 1,
            self._random.randint(least, most),
        ]
        return min(max(self._random.choice(near), least), most)

    def _fixed(self, kind, now):
        entries = [int(x) if kind.startswith('u') else float(x) for x in now]
        i = self._random.randrange(len(entries))
        entries[i] = self._number(kind, entries[i])
        return entries

    def _sequence(self, kind, now):
        entries = list(now)
        if entries and self._random.random() < 0.5:
            i = self._random.randrange(len(entries))
            entries[i] = self._value(kind, entries[i])
        else:
            blank = entries[0] if entries else BLANK.get(kind, 0)
            if not entries and '/' in kind:
                return []
            lengths = [entries[:-1], entries * 2, [], [blank], [blank] * LONG]
            entries = self._random.choice([*lengths, [*entries, blank]])
        return array(CODES[kind], entries) if kind in CODES else entries

    def _overwrite(self, content):
        if content:
            content[self._random.randrange(len(content))] = self._random.choice(
                [0, 1, 127, 128, 255, self._random.randrange(256)]
            )

    def _state_a_number(self, content):
        """Overwrite what may be the length of an array."""
        number = self._random.choice([0, 1, 2**31, 2**32 - 1, 10**9, len(content), 65_536])
        at = 4 * self._random.randrange(1, max(len(content) // 4, 2))
        if at + 4 <= len(content):
            struct.pack_into('<I', content, at, number)

    def _cut(self, content):
        end = self._random.randrange(len(content) + 9)
        content[end:] = self._random.randbytes(end - len(content)) if end > len(content) else b''

    def _damaged(self, text):
        i, j = sorted(self._random.randrange(len(text) + 1) for _ in range(2))
        return text[:i] + self._random.choice(TEXTS) + text[j:]

    def _changed_json(self, content):
        if isinstance(content, (list, dict)) and content and self._random.random() < 0.8:
            key = self._random.choice(
                sorted(content) if isinstance(content, dict) else range(len(content))
            )
            if self._random.random() < 0.1:
                del content[key]
            else:
                content[key] = self._changed_json(content[key])
            return content
        plain = [None, True, '', 'success', [], {}, [[]], {'0': 1}, -1, 0, 2**31, 2**64, 10**400]
        return self._random.choice(plain + REALS + LARGE_REALS + TEXTS)
