/** forum_status: what there is for the caller. */
import type { Caller } from '@svc/contract/tool.ts';
import { z } from 'zod';
import { mayRead, readerOf } from '../../access.ts';
import { viewerOf } from '../../acting.ts';
import { type AgoraDeps, defineTool } from '../../deps.ts';
import { tenancyOf } from '../tenancy.ts';

/** Votes of the scopes of which the caller is a member. */
async function votesFor(deps: Pick<AgoraDeps, 'registry' | 'votes'>, caller: Caller) {
  const viewer = readerOf(caller);
  const counts = await deps.votes.counts();
  const shown = await Promise.all(
    counts.map(({ scopeOwner }) =>
      mayRead(deps, caller, { scope: scopeOwner === null ? null : { owner: scopeOwner, visibility: 'scope' }, viewer }),
    ),
  );
  const seen = counts.filter((_, index) => shown[index] === true);
  const sum = (of: 'open' | 'decided'): number => seen.reduce((total, count) => total + count[of], 0);
  const threads = await deps.votes.threads(seen.map(({ scopeOwner }) => scopeOwner));
  return { openVotes: sum('open'), decidedVotes: sum('decided'), threads };
}

const status = defineTool({
  name: 'forum_status',
  area: 'forum',
  description: 'Who is there, and how much of posts, votes and unread messages there is for the caller.',
  input: z.strictObject({}),
  output: z.strictObject({
    entered: z.boolean(),
    present: z.int(),
    publications: z.int(),
    openVotes: z.int(),
    decidedVotes: z.int(),
    threads: z.int(),
    unread: z.int().describe('Messages in subscribed channels.'),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  async handler(_input, { deps, caller }) {
    const [tenancy, reader] = [await tenancyOf(deps, caller), await viewerOf(deps, caller)];
    return {
      entered: await deps.presence.stay(caller.session),
      present: await deps.presence.count(tenancy),
      publications: (await deps.posts.counts(tenancy, null)).total,
      ...(await votesFor(deps, caller)),
      unread: await deps.messages.unread(reader),
    };
  },
});

export const statusTools = [status];
