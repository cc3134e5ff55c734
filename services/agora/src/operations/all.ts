/** What agora does for other services. */
import type { AGORA } from '@svc/contract/operations.agora.ts';
import { allow } from '@svc/contract/decision.ts';
import type { Handlers } from '@svc/runtime/operations.ts';
import type { AgoraDeps } from '../deps.ts';
import { channelOf } from '../messages/domain/channel.ts';
import { outsideOperations } from './outside.ts';

export const agoraOperations: Handlers<typeof AGORA, AgoraDeps> = {
  ...outsideOperations,
  async closeout({ options, ...wish }, { deps, deadlineAt }) {
    const closed = await deps.ledgers.closeOut(onBehalfOfNobody(deadlineAt), { ...wish, ballot: options });
    if (!closed.ok) return closed;
    const { header, decision, hash } = closed.value;
    if (decision === null || hash === null) throw new Error('a vote was entered without its decision');
    const { status, winner, votes, percentage, decidedAt } = decision.decision;
    return allow({ topic: header.topic, status, winner, votes, percentage, decidedAt, hash });
  },
  async send({ ref, channel, from, content }, { deps, asker, deadlineAt }) {
    const wish = { channel: channelOf(channel), from, family: from, content };
    return deps.messages.carry(onBehalfOfNobody(deadlineAt), { asker, ref }, wish);
  },
  async post({ ref, title, content, tags, workspace, author }, { deps, asker, deadlineAt }) {
    const wish = { title, content, tags, workspace, authorAgentId: author, family: author };
    return deps.posts.announce(onBehalfOfNobody(deadlineAt), { asker, ref }, wish);
  },
};

/** The service that asks has judged whose wish it is. */
function onBehalfOfNobody(deadlineAt: number) {
  return { caller: { subject: {}, operator: false, deadlineAt }, idempotency: null };
}
