/** The forms of the variables that say who a deployment is to others. */
import { IdentityId } from './names.ts';
import { z } from 'zod';

/** Owner of everything that was made while the deployment had no name. */
const RESERVED = 'local';
const MIN_SECRET = 16;

export const nodeName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1-64 letters, digits, underscores or dashes')
  .refine((name) => name !== RESERVED, `must not be ${RESERVED}`);

export const nodeSecret = z.string().min(MIN_SECRET).max(512);

function isKey(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text;
}

/** 32 bytes: the seed of an Ed25519 key, or a public key. */
export const nodeKey = z.string().refine(isKey, 'must be 32 bytes in base64url');

const Peer = z.strictObject({
  name: nodeName,
  agentId: IdentityId.optional(),
  publicKey: nodeKey.optional(),
  secret: nodeSecret.optional(),
});
export type NodePeerSetting = z.output<typeof Peer>;

const FORM = 'must be a JSON list of {"name", "agentId"?, "publicKey"?, "secret"?}, each name once';

/** Problems name the place, never a value: there are secrets among them. */
export const nodePeers = z.string().transform((value, context): readonly NodePeerSetting[] => {
  const problem = (message: string): never => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    return problem(FORM);
  }
  const peers = z.array(Peer).max(1000).safeParse(parsed);
  if (!peers.success) {
    const [issue] = peers.error.issues;
    return problem(`${FORM}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
  }
  const names = new Set(peers.data.map(({ name }) => name));
  const agents = peers.data.flatMap(({ agentId }) => agentId ?? []);
  if (names.size !== peers.data.length || new Set(agents).size !== agents.length) return problem(FORM);
  return peers.data;
});
