/** Sends odd requests and looks at what is said to them. */
import { expect } from 'vitest';
import { type Caller, codeOf } from '../client.ts';
import type { Shot } from './garbage.ts';

const LANES = 24;

/** What was said to them all, in a line. */
export async function shootAll(user: Caller, shots: Iterator<Shot>, count: number): Promise<string> {
  const times: number[] = [];
  const wrong: string[] = [];
  const codes = new Map<string, number>();
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const { path, body, headers } = shots.next().value as Shot;
      const at = performance.now();
      const reply = await user.send(path, body, { headers });
      times.push(performance.now() - at);
      const code = codeOf(reply) ?? String(reply.status);
      codes.set(code, (codes.get(code) ?? 0) + 1);
      // Others may have been at the same thing at that moment.
      if ((reply.status >= 500 && code !== 'E_BUSY') || reply.status === 0)
        wrong.push(`${reply.status} ${reply.text.slice(0, 200)} <- ${String(body).slice(0, 400)}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(wrong.slice(0, 10)).toEqual([]);
  times.sort((a, b) => a - b);
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
  const top = [...codes]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 8)
    .map(([code, times]) => `${code} ${times}`);
  return `${times.length} odd requests, no failure, p99 ${p99.toFixed(1)} ms; ${top.join(', ')}`;
}
