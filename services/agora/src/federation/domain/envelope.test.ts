/** What of the messages of others is taken, and why the rest is dropped. */
import { describe, expect, test } from 'vitest';
import { type Envelope, envelopeText, MAX_SKEW_MS, readEnvelope, rejectionOf, signedBytes } from './envelope.ts';
import { createKeyring, type Keyring } from './keyring.ts';
import { ed25519Key } from './keys.ts';
import { identityOf, missingOf, type NodeVariables } from './settings.ts';

const SECRET = 'a secret of sixteen characters';
const NOW = 1_790_000_000_000;
const seedOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64url');
const publicKeyOf = (byte: number): string => ed25519Key(seedOf(byte)).publicKey;

function ring(name: string, over: NodeVariables = {}): Keyring {
  const identity = identityOf({
    SVC_NODE_NAME: name,
    SVC_NODE_PORT: 3457,
    SVC_NODE_SECRET: SECRET,
    SVC_NODE_AGENT_ID: `${name}-agent`,
    ...over,
  });
  if (identity === null) throw new Error('a node without identity');
  return createKeyring(identity);
}

function said(by: Keyring, over: Partial<Envelope> = {}): string {
  const envelope: Envelope = {
    v: 1,
    from: by.name,
    to: 'beta',
    keyId: by.keyId,
    ts: NOW,
    nonce: 'AAECAwQFBgcICQoLDA0ODw',
    type: 'topic.get',
    body: { topic: 'lunch', afterSeq: 0 },
    ...over,
  };
  return envelopeText(envelope, by.signEnvelope(envelope.to, signedBytes(envelope)));
}

function fateOf(text: string, to: Keyring, now = NOW): string {
  const read = readEnvelope(text);
  if (typeof read === 'string') return read;
  const recipient = {
    name: to.name,
    now,
    isPeer: (node: string) => ['alpha', 'gamma'].includes(node),
    isSigned: to.isEnvelopeSigned,
  };
  return rejectionOf(read, recipient, to.name) ?? 'taken';
}

describe('an envelope', () => {
  const [alpha, beta] = [ring('alpha'), ring('beta')];

  test('is taken from a peer that signed it for this node', () => {
    expect(fateOf(said(alpha), beta)).toBe('taken');
  });

  test.each<readonly [string, string, string]>([
    ['is too large', said(alpha, { body: { topic: 'x'.repeat(512 * 1024) } }), 'size'],
    ['is too large in bytes alone', said(alpha, { body: { topic: 'ö'.repeat(300_000) } }), 'size'],
    [
      'is too deep',
      said(alpha, { body: { topic: JSON.parse(`${'['.repeat(63)}${']'.repeat(63)}`) as unknown } }),
      'size',
    ],
    ['is deep beyond reason', '['.repeat(500_000), 'size'],
    ['is no JSON', '{', 'schema'],
    ['is a list', '[]', 'schema'],
    ['has white space', said(alpha).replace(',', ', '), 'schema'],
    ['has a field twice', said(alpha).replace('{', '{"v":1,'), 'schema'],
    ['has half a character', said(alpha).replace('"lunch"', '"lunch","\\ud800":1'), 'schema'],
    ['has a field more', said(alpha).replace('"v":1', '"v":1,"w":1'), 'schema'],
    ['has a number in another form', said(alpha).replace('"v":1', '"v":1.0'), 'schema'],
    ['is from a stranger', said(ring('delta')), 'unknown'],
    ['is from the node itself', said(beta), 'unknown'],
    ['is for another node', said(alpha, { to: 'gamma' }), 'misdirected'],
    ['is for everybody', said(alpha, { to: '*' }), 'misdirected'],
    ['is signed with another secret', said(ring('alpha', { SVC_NODE_SECRET: 'another secret, long' })), 'signature'],
    ['is signed as another node', said({ ...alpha, name: 'gamma' }), 'signature'],
    ['names another key', said(alpha, { keyId: 'hmac2' }), 'signature'],
    ['is signed with an own key that nobody knows', said(ring('alpha', { SVC_NODE_KEY: seedOf(1) })), 'signature'],
  ])('that %s is dropped', (_what, text, reason) => {
    expect(fateOf(text, beta)).toBe(reason);
  });

  test.each([
    [240_000, 'taken'],
    [-240_000, 'taken'],
    [MAX_SKEW_MS, 'taken'],
    [MAX_SKEW_MS + 1, 'stale'],
    [-360_000, 'stale'],
    [360_000, 'stale'],
  ])('of a clock that is %i ms ahead is %s', (skewMs, fate) => {
    expect(fateOf(said(alpha, { ts: NOW + skewMs }), beta)).toBe(fate);
  });

  test('is as deep as allowed', () => {
    const deep = JSON.parse(`${'['.repeat(62)}${']'.repeat(62)}`) as unknown;
    expect(fateOf(said(alpha, { body: { deep } }), beta)).toBe('taken');
  });

  test('has no second text for its signature', () => {
    const text = said(alpha);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const sig = /"sig":"([^"]+)"/.exec(text)?.[1] ?? '';
    const accepted = alphabet
      .split('')
      .filter((last) => fateOf(text.replace(sig, sig.slice(0, -1) + last), beta) === 'taken');
    expect(accepted).toEqual([sig.at(-1)]);
  });
});

describe('keys of nodes', () => {
  test('a former secret is accepted and never used', () => {
    const changed = { SVC_NODE_SECRET: 'the new secret of all', SVC_NODE_SECRET_PREVIOUS: SECRET };
    const [before, after] = [ring('alpha'), ring('alpha', changed)];
    expect(fateOf(said(before), ring('beta', changed))).toBe('taken');
    expect(fateOf(said(after), ring('beta', changed))).toBe('taken');
    expect(fateOf(said(after), ring('beta'))).toBe('signature');
    expect(fateOf(said(before), ring('beta', { SVC_NODE_SECRET: 'the new secret of all' }))).toBe('signature');
  });

  test('a secret that all accept before anybody uses it changes while all understand each other', () => {
    const next = 'the new secret of all';
    const steps = [
      {},
      { SVC_NODE_SECRET_PREVIOUS: next },
      { SVC_NODE_SECRET: next, SVC_NODE_SECRET_PREVIOUS: SECRET },
      { SVC_NODE_SECRET: next },
    ];
    for (const [index, later] of steps.entries()) {
      const earlier = steps[index - 1] ?? later;
      expect(fateOf(said(ring('alpha', earlier)), ring('beta', later))).toBe('taken');
      expect(fateOf(said(ring('alpha', later)), ring('beta', earlier))).toBe('taken');
    }
  });

  test("a peer's own secret takes the place of the group's in both directions", () => {
    const own = 'known to alpha and beta';
    const [alpha, beta] = [
      ring('alpha', { SVC_NODE_PEERS: [{ name: 'beta', secret: own }] }),
      ring('beta', { SVC_NODE_PEERS: [{ name: 'alpha', secret: own }] }),
    ];
    expect(fateOf(said(alpha), beta)).toBe('taken');
    expect(fateOf(said(ring('alpha')), beta)).toBe('signature');
    expect(fateOf(said(ring('gamma')), beta)).toBe('taken');
  });

  test('from a peer with a public key nothing else is taken, and its key counts for it alone', () => {
    const peers = { SVC_NODE_PEERS: [{ name: 'alpha', publicKey: publicKeyOf(1) }] };
    const [beta, keyed] = [ring('beta', peers), ring('alpha', { SVC_NODE_KEY: seedOf(1) })];
    expect(fateOf(said(keyed), beta)).toBe('taken');
    expect(fateOf(said(ring('alpha')), beta)).toBe('signature');
    expect(fateOf(said({ ...ring('alpha'), keyId: keyed.keyId }), beta)).toBe('signature');
    expect(fateOf(said({ ...keyed, keyId: 'hmac' }), beta)).toBe('signature');
    expect(fateOf(said(ring('alpha', { SVC_NODE_KEY: seedOf(2) })), beta)).toBe('signature');
    expect(fateOf(said({ ...keyed, name: 'gamma' }), beta)).toBe('signature');
    expect([beta.mayAnnounce('gamma'), beta.mayAnnounce('alpha')]).toEqual([true, true]);
  });

  test('a node with a key of its own knows those alone whose keys it was given', () => {
    const beta = ring('beta', {
      SVC_NODE_KEY: seedOf(2),
      SVC_NODE_PEERS: [{ name: 'alpha', publicKey: publicKeyOf(1) }],
    });
    expect(fateOf(said(ring('alpha', { SVC_NODE_KEY: seedOf(1) })), beta)).toBe('taken');
    expect(fateOf(said(ring('gamma')), beta)).toBe('signature');
    expect([beta.mayAnnounce('gamma'), beta.mayAnnounce('alpha')]).toEqual([false, true]);
  });

  test('what a node signed for its ledgers counts for it, under that label, as long as it is unchanged', () => {
    const [alpha, beta] = [ring('alpha'), ring('beta')];
    const signature = alpha.sign('svc-agora-ballot', { outcome: 'yes' }) ?? '';
    expect(beta.verify('alpha', 'svc-agora-ballot', { outcome: 'yes' }, signature)).toBe(true);
    expect(alpha.verify('alpha', 'svc-agora-ballot', { outcome: 'yes' }, signature)).toBe(true);
    expect(beta.verify('alpha', 'svc-agora-ballot', { outcome: 'no' }, signature)).toBe(false);
    expect(beta.verify('alpha', 'svc-agora-entry', { outcome: 'yes' }, signature)).toBe(false);
    expect(beta.verify('gamma', 'svc-agora-ballot', { outcome: 'yes' }, signature)).toBe(false);
  });
});

test('what is missing is named, and without it there is no identity', () => {
  expect(missingOf({})).toEqual(['SVC_NODE_NAME', 'SVC_NODE_PORT', 'SVC_NODE_SECRET', 'SVC_NODE_AGENT_ID']);
  expect(identityOf({ SVC_NODE_NAME: 'alpha' })).toBeNull();
});
