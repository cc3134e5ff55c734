import { describe, expect, it } from 'vitest';
import { Breaker } from './breaker.ts';
import { RemoteError, type RemoteKind } from './remote-error.ts';

const failing = (breaker: Breaker, kind: RemoteKind = 'silent') =>
  breaker.run(() => Promise.reject(new RemoteError(kind, 'It is silent.', { said: 'words' })));

describe('Breaker', () => {
  it('opens after 5 failures in a row for 30 s and tells the last of them, then lets one through', async () => {
    let now = 1_000;
    const breaker = new Breaker({ now: () => now });
    for (let attempt = 0; attempt < 4; attempt += 1)
      await expect(failing(breaker)).rejects.toMatchObject({ retryAfterMs: null });
    await breaker.run(() => Promise.resolve());
    for (let attempt = 0; attempt < 5; attempt += 1)
      await expect(failing(breaker)).rejects.toMatchObject({ retryAfterMs: null });
    now += 10_000;
    await expect(failing(breaker)).rejects.toMatchObject({
      code: 'E_REMOTE_UNREACHABLE',
      kind: 'silent',
      said: 'words',
      message: expect.stringContaining('It is silent.'),
      retryAfterMs: 20_000,
    });
    now += 20_000;
    await expect(failing(breaker)).rejects.toMatchObject({ retryAfterMs: null });
    expect(breaker.state).toBe('open');
    now += 30_000;
    expect(await breaker.run(() => Promise.resolve('back'))).toBe('back');
    expect(breaker.state).toBe('closed');
  });

  it('sends one ahead after the pause; the others are not held up by it', async () => {
    let now = 0;
    const breaker = new Breaker({ now: () => now, failuresToOpen: 1 });
    await expect(failing(breaker)).rejects.toThrow();
    now += 30_000;
    const probe = Promise.withResolvers<string>();
    const first = breaker.run(() => probe.promise);
    await expect(breaker.run(() => Promise.resolve())).rejects.toMatchObject({ retryAfterMs: 1000 });
    probe.resolve('back');
    expect(await first).toBe('back');
    expect(await breaker.run(() => Promise.resolve('open to all'))).toBe('open to all');
  });

  it.each(['hook', 'absent', 'credential', 'damaged', 'full'] as const)(
    'does not count %s: the remote works, for other brains too',
    async (kind) => {
      const breaker = new Breaker({ now: () => 0, failuresToOpen: 1 });
      await expect(failing(breaker, kind)).rejects.toThrow();
      expect(breaker.state).toBe('closed');
    },
  );
});
