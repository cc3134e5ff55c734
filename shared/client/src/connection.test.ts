import { expect, test } from 'vitest';
import { connectionOf } from './connection.ts';

test.each(['127.0.0.1:3457', 'localhost:3457', 'localhost', 'ftp://x', ''])(
  'the address "%s" is told what it lacks',
  (url) => {
    expect(() => connectionOf({ url })).toThrow(`"${url}" is no http address such as http://127.0.0.1:3457.`);
  },
);

test.each(['key', 'token', 'agent', 'session'])(
  'what no header can carry is refused by the name of its option `%s`, and not shown',
  (name) => {
    for (const value of ['hidden\nvalue', 'hidden \u6f22', 'hidden\0', 'hidden\u0001value', 'hidden\u007fvalue']) {
      const refused = (): unknown => connectionOf({ url: 'http://127.0.0.1:3457', [name]: value });
      expect(refused).toThrow(
        new TypeError(`\`${name}\` has a character that no header can carry, such as a line break.`),
      );
    }
  },
);

test('a credential from a file may end with a line break', () => {
  const { headers } = connectionOf({ url: 'http://127.0.0.1:3457', key: 'abc\r\n', session: 'editor' });
  expect(headers).toEqual({ authorization: 'Bearer abc', 'x-svc-session': 'editor' });
});

test('an empty agent is nobody, and not the operator', () => {
  expect(() => connectionOf({ url: 'http://127.0.0.1:3457', key: 'abc', agent: '' })).toThrow('`agent` is empty');
});
