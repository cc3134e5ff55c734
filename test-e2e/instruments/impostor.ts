/** Whoever listens between deployments and speaks in the name of any of them: written from the rules, not with the code that they bind. */
import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { canonicalJson } from '@svc/contract/canonical.ts';
import { connectNatsBus } from '@svc/runtime/bus.nats.ts';
import { onTestFinished } from 'vitest';
import type { Fields } from '../client.ts';
import { SECRET } from './deployments.ts';
import type { Random } from './random.ts';

const EVERYBODY = '*';
/** What is not answered by then is taken for what nobody answers. */
const SILENT_FOR_MS = 1000;
/** A busy machine needs longer for what it does answer. */
const ANSWERED_WITHIN_MS = 30_000;

interface Said {
  readonly from: string;
  readonly type: string;
  readonly body: Fields;
  /** The deployment that is spoken to, unless told. */
  readonly to?: string;
  /** Now, unless told. */
  readonly ts?: number;
  /** That of all, unless told. */
  readonly secret?: string;
}

function sealed({ secret = SECRET, ...said }: Said & { readonly to: string }): string {
  const nonce = randomBytes(16).toString('base64url');
  const envelope = { v: 1, keyId: 'hmac', ts: Date.now(), nonce, ...said };
  const { from, to } = envelope;
  const info = to === EVERYBODY ? `ledger\0${from}` : `pair\0${from}\0${to}`;
  const key = Buffer.from(hkdfSync('sha256', secret, 'svc-agora-v1', info, 32));
  const signed = `svc-agora-envelope\0${canonicalJson(envelope)}`;
  return canonicalJson({ ...envelope, sig: createHmac('sha256', key).update(signed).digest('base64url') });
}

interface Voice {
  readonly node: string;
  readonly voter: string;
  readonly outcome: string;
}

/** A ballot on that topic as the secret lets anybody sign it in the name of a node. */
export function forgedBallot(header: Fields, { node, voter, outcome }: Voice): { ballot: Fields; sig: string } {
  const hash = createHash('sha256')
    .update(`svc-agora-header\0${canonicalJson(header)}`)
    .digest('hex');
  const ballot = { header: hash, topic: header['topic'], voter, node, outcome, votedAt: Date.now() };
  const key = Buffer.from(hkdfSync('sha256', SECRET, 'svc-agora-v1', `ledger\0${node}`, 32));
  const signed = `svc-agora-ballot\0${canonicalJson(ballot)}`;
  return { ballot, sig: createHmac('sha256', key).update(signed).digest('base64url') };
}

/** With one bit or one field that is not as it was signed. */
export function changedMessage(text: string, random: Random): string {
  if (random.int(0, 3) > 0) {
    const bytes = Buffer.from(text);
    const at = random.int(0, bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.int(0, 8));
    return bytes.toString();
  }
  const envelope = JSON.parse(text) as Fields;
  return JSON.stringify({ ...envelope, [random.pick(Object.keys(envelope))]: random.pick([0, '', 'gamma', {}, null]) });
}

const silent = { info() {}, warn() {}, error() {} };

export type Impostor = Awaited<ReturnType<typeof connectImpostor>>;

/** Between deployments that meet at `url`, at the ear of one of them. */
export async function connectImpostor(url: string, victim: string) {
  const bus = await connectNatsBus({ urls: [url], name: 'impostor', log: silent });
  onTestFinished(() => bus.close());
  const subject = `svc.x.${victim}.agora`;
  const heard: string[] = [];
  await bus.subscribe(subject, (text) => void heard.push(text));

  const request = async (text: string, withinMs: number): Promise<Fields> => {
    const answer = await bus.request(subject, text, { deadlineAt: Date.now() + withinMs });
    return (JSON.parse(answer) as { body: Fields }).body;
  };
  /** The body of the answer; null = there was none. */
  const send = (text: string): Promise<Fields | null> => request(text, SILENT_FOR_MS).catch(() => null);
  return {
    send,
    /** The body of the answer that has to come. */
    ask: (text: string): Promise<Fields> => request(text, ANSWERED_WITHIN_MS),
    /** What `say` sends. */
    written: (said: Said) => sealed({ to: victim, ...said }),
    say: (said: Said) => send(sealed({ to: victim, ...said })),
    /** Says that there is a deployment of that name. */
    announce(name: string): void {
      const body = { port: 1, agentId: `${name}-agent`, instance: name };
      bus.publish('svc.x.presence', sealed({ from: name, to: EVERYBODY, type: 'presence', body }));
    },
    /** The last message of that type, as others sent it. */
    recorded(type: string): { readonly text: string; readonly body: Fields } {
      for (const text of heard.toReversed()) {
        const { type: told, body } = JSON.parse(text) as { type: string; body: Fields };
        if (told === type) return { text, body };
      }
      throw new Error(`nobody sent ${type}`);
    },
  };
}
