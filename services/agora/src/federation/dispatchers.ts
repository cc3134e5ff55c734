/** What other nodes may ask of this one. */
import type { RegistryStamp } from '@svc/contract/registry.ts';
import { scopeOfNothing } from '../access.ts';
import { pageOf } from './domain/copies.ts';
import {
  type AnswerTo,
  MAX_ENTRIES_A_PAGE,
  type MessageType,
  type Question,
  type WireLedger,
} from './domain/messages.ts';
import { LOCAL } from './domain/settings.ts';
import type { AdoptRefusal, Ledgers } from './ledgers.ts';
import type { NodeStore } from './store/node-store.ts';
import type { Dispatch, Effect } from './transport/receiver.ts';

interface DispatchParts {
  readonly self: string;
  readonly ledgers: Ledgers;
  readonly store: Pick<NodeStore, 'principalOf'>;
  isMember(owner: string, agentId: string, stamp: RegistryStamp | null): Promise<boolean>;
  /** Whether the registry of this node knows the agent as its own. */
  isLocal(agentId: string): Promise<boolean>;
}

type Handlers = { [Type in MessageType]: (from: string, question: Question<Type>) => Promise<Effect> };

const ABSENT = { absent: true } as const;
const absent: Effect = async () => ABSENT;

/** What a node hears that sent something which cannot be merged. */
const REFUSED: Readonly<Record<AdoptRefusal, AnswerTo<'topic.push'>>> = {
  E_TOPIC_CONFLICT: { conflict: true },
  E_SIGNATURE: { refused: 'bad_signature' },
  E_LEDGER_FORK: { refused: 'disputed' },
};

/** Whether a node may see a topic: everybody one without a scope or open to all, else one whose principal is a member. */
export async function mayReceive(
  parts: Pick<DispatchParts, 'store' | 'isMember' | 'isLocal'>,
  node: string,
  { scope }: Pick<WireLedger['header'], 'scope'>,
): Promise<boolean> {
  if (scope === null || scope.visibility === 'public') return true;
  const agentId = await principalOf(parts, node);
  return agentId !== null && (await parts.isMember(scope.owner, agentId, null));
}

/** In whose name a node acts: what the operator says, else what was claimed first, unless an agent of this node has that name. */
async function principalOf(
  { store, isLocal }: Pick<DispatchParts, 'store' | 'isLocal'>,
  node: string,
): Promise<string | null> {
  const principal = await store.principalOf(node);
  if (principal === null) return null;
  return principal.isConfigured || !(await isLocal(principal.agentId)) ? principal.agentId : null;
}

export function createDispatch(parts: DispatchParts): Dispatch {
  const { self, ledgers } = parts;
  const handlers: Handlers = {
    async 'topic.get'(from, { topic, afterSeq }) {
      const copy = await ledgers.copyAfter(topic, afterSeq, MAX_ENTRIES_A_PAGE);
      const isShown = await mayReceive(parts, from, copy?.header ?? { scope: scopeOfNothing(topic) });
      if (copy === null || copy.header.owner === LOCAL || !isShown) return absent;
      const page = pageOf(copy);
      return async () => page;
    },

    async 'topic.push'(from, copy) {
      const here = await ledgers.copyAfter(copy.header.topic, 0, 0);
      const isTheirs = here?.header.owner === from || (here === null && copy.header.owner !== self);
      const header = here?.header ?? { scope: scopeOfNothing(copy.header.topic) };
      const isShown = isTheirs || (await mayReceive(parts, from, header));
      if (!isShown || (here === null && copy.header.owner === self)) return absent;
      const arrival = { from, family: null };
      if (here === null && !(await ledgers.hasRoom(arrival))) return async () => ({ refused: 'quota' });
      return async (unit) => {
        const adopted = await ledgers.adopt(unit, copy, arrival);
        return adopted.ok ? { ...adopted.value } : REFUSED[adopted.code];
      };
    },

    async 'ballot.cast'(from, signed) {
      const { voter, node } = signed.ballot;
      const isOwn = node === from && (await principalOf(parts, from)) === voter;
      return ledgers.castRemote(signed, { isPrincipal: isOwn, isShown: (header) => mayReceive(parts, from, header) });
    },
  };
  return async (from, type, question) => handlers[type](from, question);
}
