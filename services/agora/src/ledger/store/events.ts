/** What is told of a topic, and to whom: whoever may read it, wherever it belongs. */
import type { AGORA_EVENTS } from '@svc/contract/events.agora.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import type { ServiceStore, Unit } from '@svc/runtime/store.ts';
import type { Header, Scope } from '../domain/ledger.ts';

export type AgoraEvent = EventIn<typeof AGORA_EVENTS>;
export type AgoraStore = ServiceStore<AgoraEvent>;
export type AgoraUnit = Unit<AgoraEvent>;

const EVERYBODY = '*';

function splitOwner(owner: string): readonly [kind: string, id: string] {
  const colon = owner.indexOf(':');
  return [owner.slice(0, colon), owner.slice(colon + 1)];
}

function partiesOf(scope: Scope | null): string[] {
  if (scope === null || scope.visibility === 'public') return [EVERYBODY];
  const [kind, id] = splitOwner(scope.owner);
  return [kind === 'agent' ? id : kind === 'workspace' ? `ws:${id}` : `in:${scope.owner}`];
}

/** What every event of a topic carries. */
export function told({ topic, owner, scope, thread }: Pick<Header, 'topic' | 'owner' | 'scope' | 'thread'>) {
  return { topic, owner, thread, parties: partiesOf(scope) };
}
