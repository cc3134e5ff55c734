/** msg_*: messages in channels. */
import { allow, deny } from '@svc/contract/decision.ts';
import { IdentityId } from '@svc/contract/names.ts';
import { DEFAULT_LIMIT, encodeCursor, page, PlainText } from '@svc/contract/params.ts';
import { familyOf } from '@svc/contract/subject.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { nextPage, positionOf } from '@svc/runtime/paging.ts';
import { z } from 'zod';
import { actorOfCall, viewerOf, viewerOfAgent } from '../acting.ts';
import { defineTool } from '../deps.ts';
import { CHANNEL_NAME, channelOf, MAX_CONTENT, mayRead, mayWrite } from './domain/channel.ts';

const ChannelName = z
  .string()
  .regex(CHANNEL_NAME, 'must be 1-160 letters, digits or ._@:/- and start with a letter or digit')
  .describe('Channel: agent:<id>, agents:<workspace>, ws:<workspace>:<name>, or any other name, which is open to all.');
const Content = PlainText.min(1).max(MAX_CONTENT);
const Seq = z.int().min(0);

const send = defineTool({
  name: 'msg_send',
  area: 'messages',
  description: 'Says something in a channel, which begins with its first message.',
  input: z.strictObject({
    channel: ChannelName,
    content: Content,
    from: IdentityId.optional().describe('As whom; default: the agent of the call.'),
  }),
  output: z.strictObject({
    sent: z.literal(true),
    id: z.string(),
    channel: z.string(),
    seq: z.int(),
    from: z.string(),
    at: z.number(),
  }),
  access: 'identified',
  effect: 'write',
  refuses: ['E_CHANNEL_ABSENT', 'E_NO_AGENT', 'E_QUOTA'],
  raises: ['FORBIDDEN'],
  dress: { sent: false },
  example: { channel: 'lunch', content: 'Who comes along?' },
  async handler({ channel: name, content, from: named }, call) {
    const { deps, caller, refuse } = call;
    const from = actorOfCall(deps, caller, named);
    if (from === null) throw refuse('E_NO_AGENT');
    const channel = channelOf(name);
    const family = familyOf(caller.subject) ?? from;
    const isOpen = mayWrite(channel, await viewerOfAgent(deps, caller, from));
    const wish = isOpen ? allow({ channel, from, family, content }) : deny('E_CHANNEL_ABSENT');
    const sent = settled(call, await deps.messages.send(call, wish));
    return { sent: true as const, ...sent };
  },
});

const MessageShown = z.strictObject({
  id: z.string(),
  seq: z.int(),
  from: z.string(),
  content: z.string(),
  at: z.number(),
});

const list = defineTool({
  name: 'msg_list',
  area: 'messages',
  description: 'The messages of a channel, oldest first; without a channel the channels that the caller may read.',
  input: z.strictObject({
    channel: ChannelName.optional(),
    after: Seq.optional().describe('Messages with greater numbers; without it the last ones.'),
    ...page,
  }),
  output: z.union([
    z.strictObject({
      channel: z.string(),
      messages: z.array(MessageShown),
      lastSeq: z.int(),
      nextCursor: z.string().optional(),
    }),
    z.strictObject({
      channels: z.array(
        z.strictObject({ channel: z.string(), messages: z.int(), lastSeq: z.int(), lastAt: z.number() }),
      ),
      nextCursor: z.string().optional(),
    }),
  ]),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: { channel: 'lunch' },
  async handler({ channel: name, after, limit = DEFAULT_LIMIT, cursor }, { deps, caller }) {
    const { messages: store } = deps;
    const viewer = await viewerOf(deps, caller);
    const position = positionOf(limit, cursor);
    if (name === undefined) {
      const rows = await store.channels(viewer, { after: position.after, limit: limit + 1 });
      const { items, next } = nextPage(rows, position, ({ channel }) => channel);
      return { channels: [...items], ...next };
    }
    const from = position.after === null ? (after ?? null) : seqOf(position.after);
    const { messages, lastSeq } = await store.messages(viewer, { channel: name, after: from, limit });
    const last = messages.at(-1)?.seq ?? lastSeq;
    const [first] = messages;
    if (viewer.agentId !== null && first !== undefined)
      await store.markRead({ actor: viewer.agentId, channel: name, first: first.seq, last });
    return {
      channel: name,
      messages: [...messages],
      lastSeq,
      ...(last < lastSeq ? { nextCursor: encodeCursor(String(last)) } : {}),
    };
  },
});

function seqOf(position: string): number {
  if (!/^\d{1,15}$/.test(position)) throw invalidArguments([{ path: 'cursor', message: 'is not a cursor' }]);
  return Number(position);
}

const subscribe = defineTool({
  name: 'msg_subscribe',
  area: 'messages',
  description: 'From now on each message of the channel also reaches the sockets of the agent as msg:delivered.',
  input: z.strictObject({
    channel: ChannelName,
    handler: PlainText.max(100).optional().describe('A label that comes along with each message.'),
    agentId: IdentityId.optional().describe('As whom; default: the agent of the call.'),
    value: z.boolean().default(true).describe('false ends it.'),
  }),
  output: z.strictObject({
    subscribed: z.boolean(),
    channel: z.string(),
    event: z.literal('msg:delivered'),
    handler: z.string().nullable(),
    fromSeq: z.int().nullable(),
  }),
  access: 'identified',
  effect: 'write-idempotent',
  refuses: ['E_CHANNEL_ABSENT', 'E_NO_AGENT', 'E_QUOTA'],
  raises: ['FORBIDDEN'],
  dress: { subscribed: false },
  example: { channel: 'lunch', handler: 'meals' },
  async handler({ channel: name, handler: label = null, agentId, value }, call) {
    const { deps, caller, refuse } = call;
    const actor = actorOfCall(deps, caller, agentId);
    if (actor === null) throw refuse('E_NO_AGENT');
    const channel = channelOf(name);
    const shown = { channel: name, event: 'msg:delivered' as const };
    if (!value) {
      const fromSeq = settled(call, await deps.messages.unsubscribe(call, { actor, channel }));
      return { subscribed: false, ...shown, handler: null, fromSeq };
    }
    if (!mayRead(channel, await viewerOfAgent(deps, caller, actor))) throw refuse('E_CHANNEL_ABSENT');
    const family = familyOf(caller.subject) ?? actor;
    const fromSeq = settled(call, await deps.messages.subscribe(call, { actor, channel, label, family }));
    return { subscribed: true, ...shown, handler: label, fromSeq };
  },
});

export const messageTools = [send, list, subscribe];
