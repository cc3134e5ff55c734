/** What holds for both forms of a shelf. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Shared } from '@svc/runtime/platform.ts';
import { describe, expect, test } from 'vitest';
import { createShelf, type ShelfRules } from '../src/mcp/shelf.ts';

interface Thing {
  readonly text: string;
}

const WIDE = { keptMs: 60_000, isRenewed: false, maxInAll: 100, maxEach: 10, whenOwnerIsFull: 'refuse' } as const;

export function shelfContract(form: string, shared: Shared): void {
  const shelf = (rules: Partial<ShelfRules> = {}) =>
    createShelf<Thing>(shared, { ...WIDE, kind: randomBytes(4).toString('hex'), ...rules });

  describe(`a shelf in ${form}`, () => {
    test('keeps things by their names until they are removed', async () => {
      const things = shelf();
      expect(await things.put('a', 'anna', { text: 'line\nline' })).toBe(true);
      expect(await things.get('a')).toEqual({ text: 'line\nline' });
      expect(await things.get('b')).toBeNull();
      await things.remove('a');
      await things.remove('a');
      expect([await things.get('a'), await things.size()]).toEqual([null, 0]);
    });

    test('refuses beyond its bounds, and gives the room back', async () => {
      const things = shelf({ maxEach: 2, maxInAll: 3 });
      const put = (name: string, owner: string) => things.put(name, owner, { text: name });
      expect([await put('a1', 'anna'), await put('a2', 'anna'), await put('a3', 'anna')]).toEqual([true, true, false]);
      expect([await put('b1', 'ben'), await put('b2', 'ben')]).toEqual([true, false]);
      await things.remove('a1');
      expect([await put('b2', 'ben'), await put('a3', 'anna')]).toEqual([true, false]);
      expect(await things.size()).toBe(3);
    });

    test("an owner's next thing takes the place of its own longest unread one, never of another's", async () => {
      const things = shelf({ maxEach: 2, whenOwnerIsFull: 'forget-its-oldest', isRenewed: true });
      const put = (name: string, owner: string) => things.put(name, owner, { text: name });
      await put('b1', 'ben');
      await put('a1', 'anna');
      await sleep(3);
      await put('a2', 'anna');
      await sleep(3);
      expect(await things.get('a1')).not.toBeNull();
      for (let index = 3; index <= 20; index += 1) {
        await sleep(3);
        await things.get('a1');
        await put(`a${index}`, 'anna');
        await sleep(3);
      }
      const left = await Promise.all(['a1', 'a2', 'a19', 'a20', 'b1'].map((name) => things.get(name)));
      expect(left.map((thing) => thing?.text ?? null)).toEqual(['a1', null, null, 'a20', 'b1']);
      expect(await things.size()).toBe(3);
    });

    test('forgets what nobody reads, and what is read only if that renews it', async () => {
      const [fixed, renewed] = [shelf({ keptMs: 300 }), shelf({ keptMs: 300, isRenewed: true })];
      for (const things of [fixed, renewed]) await things.put('a', 'anna', { text: 'a' });
      for (let passed = 0; passed < 500; passed += 50) {
        await sleep(50);
        await renewed.get('a');
      }
      expect([await fixed.get('a'), await fixed.size()]).toEqual([null, 0]);
      expect([await renewed.get('a'), await renewed.size()]).toEqual([{ text: 'a' }, 1]);
      await sleep(400);
      expect([await renewed.get('a'), await renewed.size()]).toEqual([null, 0]);
    });

    test('changes that meet each see what the one before made', async () => {
      const things = shelf({ keptMs: 60_000 });
      await things.put('a', 'anna', { text: '' });
      await Promise.all(Array.from({ length: 40 }, () => things.change('a', ({ text }) => ({ text: `${text}x` }))));
      expect(await things.get('a')).toEqual({ text: 'x'.repeat(40) });
      expect(await things.change('a', () => null)).toEqual({ text: 'x'.repeat(40) });
      expect(await things.change('none', (thing) => thing)).toBeNull();
    });
  });
}
