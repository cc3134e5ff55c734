/** Opens a topic of this node, inside a transaction of its caller. */
import { canonicalJson } from '@svc/contract/canonical.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import type { NodeSigner } from '../../federation/domain/keyring.ts';
import { type Header, headerHash } from '../domain/ledger.ts';
import { emptySums } from '../domain/tally.ts';
import { decideDeadline, decideRoom } from '../domain/topic.ts';
import { type AgoraUnit, told } from './events.ts';
import { countOpen, databaseNow, insertTopic, readTopic, type TopicRow } from './topic-rows.ts';

export interface TopicWish
  extends Pick<
    Header,
    'topic' | 'author' | 'ballot' | 'minQuorum' | 'threshold' | 'weighting' | 'sealed' | 'scope' | 'thread'
  > {
  /** Null = the usual time from now. */
  readonly deadline: number | null;
  /** Under whom the open topics of the author are counted. */
  readonly family: string;
}

export type OpeningRefusal = 'E_COLLISION' | 'E_DEADLINE' | 'E_QUOTA';

export async function openIn(
  { tx, emit }: AgoraUnit,
  signer: NodeSigner,
  { deadline: wanted, family, ...wish }: TopicWish,
): Promise<Decision<TopicRow, OpeningRefusal>> {
  const now = await databaseNow(tx);
  const deadline = decideDeadline(wanted, now);
  if (!deadline.ok) return deadline;
  const room = decideRoom(await countOpen(tx, family));
  if (!room.ok) return room;
  const row = await insertOpen({ tx, emit }, signer, { ...wish, createdAt: now, deadline: deadline.value, family });
  return row === null ? deny('E_COLLISION', { topic: wish.topic }) : allow(row);
}

/** Null = there is one of that name. */
export async function insertOpen(
  { tx, emit }: Pick<AgoraUnit, 'tx' | 'emit'>,
  signer: NodeSigner,
  { family, ...wish }: Omit<Header, 'v' | 'owner'> & { readonly family: string },
): Promise<TopicRow | null> {
  const header: Header = { v: 1, owner: signer.name, ...wish };
  const opened = await insertTopic(tx, {
    header,
    headerText: canonicalJson(header),
    headerHash: headerHash(header),
    headerSig: signer.sign('svc-agora-header', header),
    family,
    sums: emptySums(header),
    syncedFrom: null,
    broughtBy: null,
  });
  if (!opened) return null;
  const row = await readTopic(tx, header.topic);
  if (row === null) throw new Error('a topic that was opened is missing');
  emit({ name: 'vote:created', payload: { ...told(header), author: header.author, deadline: header.deadline } });
  return row;
}
