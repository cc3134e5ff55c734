import { describe, expect, it } from 'vitest';
import { decidePayload, isLaunch, MAX_PAYLOAD_BYTES } from './skill.ts';

describe('an offer that starts something', () => {
  it.each(['launch', 'Launch', 'EXEC', 'autorun', 'Shell'])('is known by its kind: %s', (kind) => {
    expect(isLaunch(kind)).toBe(true);
  });

  it('is known by its context, whatever that holds, and by nothing else', () => {
    expect(isLaunch('text', { launch: false })).toBe(true);
    expect(isLaunch('text', { launching: true })).toBe(false);
    expect(isLaunch('scripture')).toBe(false);
  });
});

describe('a payload', () => {
  it('is as large as its canonical text in bytes', () => {
    const atLimit = 'é'.repeat((MAX_PAYLOAD_BYTES - 2) / 2);
    expect(decidePayload(atLimit)).toMatchObject({ ok: true, value: { bytes: MAX_PAYLOAD_BYTES } });
    expect(decidePayload(`${atLimit}x`)).toMatchObject({ code: 'E_SKILL_PAYLOAD', details: { bytes: 65_537 } });
    expect(decidePayload({ b: 1, a: [2] })).toMatchObject({ value: { text: '{"a":[2],"b":1}', bytes: 15 } });
  });

  it.each([null, 0, 'exec', ['exec'], { how: { exec: 'rm' } }, { Exec: 'rm' }])('may be %j', (payload) => {
    expect(decidePayload(payload)).toMatchObject({ ok: true });
  });

  it.each(['launch', 'exec', 'command', 'autorun'])('starts nothing: %s', (key) => {
    expect(decidePayload({ [key]: null })).toMatchObject({ code: 'E_SKILL_LAUNCH' });
  });
});
