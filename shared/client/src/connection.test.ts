import { expect, test } from 'vitest';
import { connectionOf } from './connection.ts';

test.each(['127.0.0.1:3457', 'localhost:3457', 'localhost', 'ftp://x', ''])(
  'the address "%s" is told what it lacks',
  (url) => {
    expect(() => connectionOf({ url })).toThrow(`"${url}" is no http address such as http://127.0.0.1:3457.`);
  },
);
