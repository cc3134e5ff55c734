/** forum_*: posts, a word to one agent, and who is there. */
import { allow, deny } from '@svc/contract/decision.ts';
import { IdentityId } from '@svc/contract/names.ts';
import { encodeCursor, page, PlainText } from '@svc/contract/params.ts';
import { familyOf, UserCtx } from '@svc/contract/subject.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { positionOf } from '@svc/runtime/paging.ts';
import { z } from 'zod';
import { actorOfCall } from '../../acting.ts';
import { defineTool } from '../../deps.ts';
import { channelOf, MAX_CONTENT } from '../../messages/domain/channel.ts';
import type { PostRow } from '../post-store.ts';
import { decidePlace, tenancyOf } from '../tenancy.ts';

const Title = PlainText.min(1).max(200);
const Tag = PlainText.min(1).max(50);
const userCtx = UserCtx.optional();
const PublicationId = z.string().regex(/^pub_[0-9a-z]{1,64}$/);

const Publication = z.strictObject({
  id: z.string(),
  title: z.string(),
  content: z.string(),
  tags: z.array(z.string()),
  workspace: z.string().nullable(),
  authorAgentId: z.string().nullable(),
  anonymous: z.boolean(),
  createdAt: z.number(),
});

function shown(post: PostRow): z.output<typeof Publication> {
  return { ...post, tags: [...post.tags], anonymous: post.authorAgentId === null };
}

const publish = defineTool({
  name: 'forum_publish',
  area: 'forum',
  description:
    'Publishes a post: in the workspace of the caller, in another one where it holds a role, or to everybody.',
  input: z.strictObject({
    title: Title,
    content: PlainText.min(1).max(65_536),
    tags: z.array(Tag).max(20).optional(),
    workspace: z.string().max(200).nullable().optional().describe("Default: the caller's; empty or null: everybody's."),
    userCtx,
  }),
  output: z.union([
    z.strictObject({ published: z.literal(true), publication: Publication }),
    z.strictObject({ published: z.literal(false), reason: z.enum(['invalid_workspace', 'workspace_denied']) }),
  ]),
  access: 'identified',
  effect: 'write',
  refuses: ['E_QUOTA'],
  dress: { published: false },
  example: { title: 'Lunch', content: 'There is soup today.', workspace: '' },
  async handler({ title, content, tags = [], workspace: wanted }, call) {
    const { deps, caller } = call;
    const tenancy = await tenancyOf(deps, caller);
    const place = decidePlace(tenancy, wanted);
    if (!place.ok) return { published: false as const, reason: place.reason };
    const { agentId: authorAgentId, family } = tenancy;
    const wish = { title, content, tags: [...new Set(tags)], workspace: place.workspace, authorAgentId, family };
    const post = settled(call, await deps.posts.publish(call, wish));
    await deps.presence.stay(caller.session);
    return { published: true as const, publication: shown(post) };
  },
});

const list = defineTool({
  name: 'forum_list',
  area: 'forum',
  description: 'Posts that the caller may see, the newest first, or one of them.',
  input: z.strictObject({
    id: PublicationId.optional(),
    tag: Tag.optional(),
    userCtx,
    ...page,
  }),
  output: z.union([
    z.strictObject({
      publications: z.array(Publication),
      tenancy: z.strictObject({
        workspace: z.string().nullable(),
        anonymous: z.boolean(),
        visible: z.int().describe('Of those that were asked for.'),
        total: z.int().describe('All that the caller may see.'),
      }),
      nextCursor: z.string().optional(),
    }),
    z.strictObject({ found: z.literal(true), publication: Publication }),
    z.strictObject({ found: z.literal(false) }),
  ]),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: { tag: 'lunch' },
  async handler({ id, tag = null, limit, cursor }, { deps, caller }) {
    const tenancy = await tenancyOf(deps, caller);
    await deps.presence.stay(caller.session);
    if (id !== undefined) {
      const post = await deps.posts.post(tenancy, id);
      return post === null ? { found: false as const } : { found: true as const, publication: shown(post) };
    }
    const position = positionOf(limit, cursor);
    const { posts, more } = await deps.posts.posts(tenancy, { tag, ...position });
    const last = posts.at(-1);
    return {
      publications: posts.map(shown),
      tenancy: {
        workspace: tenancy.home,
        anonymous: tenancy.agentId === null,
        ...(await deps.posts.counts(tenancy, tag)),
      },
      ...(more && last !== undefined ? { nextCursor: encodeCursor(last.id) } : {}),
    };
  },
});

const message = defineTool({
  name: 'forum_message',
  area: 'forum',
  description: 'Says something to one agent, in its channel.',
  input: z.strictObject({
    agent: IdentityId.describe('To whom.'),
    content: PlainText.min(1).max(MAX_CONTENT),
  }),
  output: z.strictObject({
    sent: z.literal(true),
    message: z.strictObject({
      id: z.string(),
      seq: z.int(),
      channel: z.string(),
      from: z.string(),
      to: z.string(),
      at: z.number(),
    }),
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['AGENT_NOT_FOUND', 'E_NO_AGENT', 'E_QUOTA'],
  dress: { sent: false },
  example: { agent: 'agt_1', content: 'Are you there?' },
  async handler({ agent: to, content }, call) {
    const { deps, caller, refuse } = call;
    const from = actorOfCall(deps, caller);
    if (from === null) throw refuse('E_NO_AGENT');
    const isThere = (await deps.registry.context({ agentId: to })).subject !== null;
    const family = familyOf(caller.subject) ?? from;
    const wish = { channel: channelOf(`agent:${to}`), from, family, content };
    const sent = settled(call, await deps.messages.send(call, isThere ? allow(wish) : deny('AGENT_NOT_FOUND')));
    await deps.presence.stay(caller.session);
    return { sent: true as const, message: { ...sent, to } };
  },
});

const enter = defineTool({
  name: 'forum_enter',
  area: 'forum',
  description: 'Says that the session is there; it is for five minutes after its last call.',
  input: z.strictObject({}),
  output: z.strictObject({
    entered: z.literal(true),
    agentId: z.string().nullable(),
    workspace: z.string().nullable(),
    present: z.int().describe('Sessions that are there.'),
    since: z.number(),
  }),
  access: 'public',
  effect: 'write-idempotent',
  refuses: [],
  async handler(_input, call) {
    const { deps, caller } = call;
    const { session, principal } = caller;
    const tenancy = await tenancyOf(deps, caller);
    const { agentId, home: workspace } = tenancy;
    const since = settled(call, await deps.presence.enter(call, { session, principal, agentId, workspace }));
    return { entered: true as const, agentId, workspace, present: await deps.presence.count(tenancy), since };
  },
});

export const postTools = [publish, list, message, enter];
