import { expect, it } from 'vitest';
import { readBrainKeys, withBrainKey } from './brain-keys.ts';

const keysOf = (value: unknown) => [...readBrainKeys(JSON.stringify(value)).keys()];

it('reads what is a key of a brain, and nothing of what is kept for the node', () => {
  expect(keysOf({ 'ui.theme': 1, 'market.skillsEnabled': true, 'mcp.x': 1, 'sync.remote': 'x', 'a..b': 1 })).toEqual([
    'ui.theme',
  ]);
  expect(keysOf({ unset: null, large: 'x'.repeat(16 * 1024), '__proto__.x': 1 })).toEqual([]);
  expect(readBrainKeys('{"__proto__": 1, "host.token": "abc"}').get('host.token')).toEqual({
    value: '[masked]',
    masked: true,
  });
});

it.each([null, '', '[]', '1', 'no json', '{', '['.repeat(60_000), `{"a":${'['.repeat(60_000)}${']'.repeat(60_000)}}`])(
  'what is no object of values has no keys: %.20s',
  (text) => {
    expect([...readBrainKeys(text).keys()]).toEqual([]);
  },
);

it('changes one key, and keeps what else stands there', () => {
  const text = '{"market.x": 1,\n"ui.theme":"light"}';
  const set = withBrainKey(text, 'ui.theme', 'dark');
  expect(set).toMatchObject({ ok: true, value: { changed: true } });
  expect(set.ok && JSON.parse(set.value.text)).toEqual({ 'market.x': 1, 'ui.theme': 'dark' });
  expect(withBrainKey(text, 'ui.theme', 'light')).toEqual({ ok: true, value: { text, changed: false } });
  expect(withBrainKey(text, 'ui.theme', null)).toMatchObject({ ok: true, value: { text: '{"market.x": 1}' } });
  expect(withBrainKey(null, 'a', null)).toEqual({ ok: true, value: { text: '', changed: false } });
  expect(withBrainKey(' \n', 'a', 1)).toMatchObject({ ok: true, value: { text: '{\n  "a": 1\n}\n' } });
});

it('keeps to the byte what it would write otherwise itself', () => {
  const text = (rest: string) =>
    `{\r\n\t"team": {"id": 12345678901234567890, "ratio": 1.0, "max": 1e400}${rest}\r\n}\r\n`;
  const textOf = (before: string, key: string, value: unknown) => {
    const next = withBrainKey(before, key, value);
    return next.ok ? next.value.text : next.code;
  };
  const set = textOf(text(''), 'ui.size', { at: [3] });
  expect(set).toBe(text(',\r\n\t"ui.size": {\r\n    "at": [\r\n      3\r\n    ]\r\n  }'));
  expect(textOf(set, 'ui.size', 4)).toBe(text(',\r\n\t"ui.size": 4'));
  expect(textOf(set, 'ui.size', null)).toBe(text(''));
  expect(textOf('{"a":1,"b":2 , "a":3}', 'a', 4)).toBe('{"a":1,"b":2 , "a":4}');
  expect(textOf('{"a":1,"b":2 , "a":3}', 'a', null)).toBe('{"b":2}');
  expect(textOf('{ "a":1, "a":3 }', 'a', null)).toBe('{}');
  expect(textOf('{ }', 'a', 1)).toBe('{"a": 1 }');
  const deep = `{"a":${'['.repeat(60_000)}${']'.repeat(60_000)}`;
  expect(textOf(`${deep}}`, 'b', 1)).toBe(`${deep}, "b": 1}`);
  expect(textOf(`${deep}}`, 'a', 1)).toBe('E_CONFIG_FILE');
});

it.each(['[]', 'no json', JSON.stringify({ a: 'x'.repeat(262_144) })])(
  'writes over nothing that it does not understand: %.20s',
  (text) => {
    expect(withBrainKey(text, 'b', 1)).toMatchObject({ ok: false, code: 'E_CONFIG_FILE' });
  },
);
