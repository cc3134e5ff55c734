import { createFakeClock } from '@svc/testing/fakes.ts';
import { createLog } from '@svc/runtime/log.ts';
import { expect, test } from 'vitest';
import { createDenials } from './denials.ts';

test('equal denials become one entry with their number; other failures are none', () => {
  const lines: string[] = [];
  const log = createLog('warn', {}, { write: (line: string) => void lines.push(line) });
  const denials = createDenials({ clock: createFakeClock(), log });
  for (let round = 0; round < 3; round += 1) denials.note('tok:a1', 'svc_lock', 'FORBIDDEN');
  denials.note('tok:a2', 'svc_lock', 'FORBIDDEN');
  denials.note('tok:a1', 'svc_lock', 'TIMEOUT');
  expect(lines).toEqual([]);
  denials.close();
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { principal: 'tok:a1', tool: 'svc_lock', code: 'FORBIDDEN', count: 3 },
    { principal: 'tok:a2', tool: 'svc_lock', code: 'FORBIDDEN', count: 1 },
  ]);
});
