/** Rows of the access matrix for what is said and decided. */
import { type AccessRule, everybody, members, none, operators } from './access-rule.ts';

/** The workspace's channel, and to others one that there is not. */
const ofWorkspace = (more: Record<string, unknown> = {}): AccessRule =>
  members(
    ({ workspace }) => ({ channel: `ws:${workspace}:ops`, ...more }),
    'E_CHANNEL_ABSENT',
    (fresh) => ({ channel: `ws:${fresh}:ops`, ...more }),
  );

/** The tenant's topic, and to others one that there is not. */
const ofTopic = (more: Record<string, unknown> = {}): AccessRule =>
  members(
    ({ team }) => ({ topic: team, ...more }),
    'E_TOPIC_ABSENT',
    (fresh) => ({ topic: fresh, ...more }),
  );

export const AGORA: Record<string, AccessRule> = {
  consensus_create: everybody((_tenant, fresh) => ({ topic: fresh, options: ['yes', 'no'] })),
  consensus_vote: ofTopic({ choice: 'yes' }),
  consensus_tally: ofTopic(),
  consensus_get: { ...everybody(({ team }) => ({ topic: team })), unknown: (fresh) => ({ topic: fresh }) },
  consensus_list: everybody(),
  agora_vote: everybody((_tenant, fresh) => ({ node: fresh, topic: fresh, outcome: 'yes' })),
  agora_pull: everybody((_tenant, fresh) => ({ node: fresh, topic: fresh })),
  agora_push: everybody((_tenant, fresh) => ({ node: fresh, topic: fresh })),
  agora_nodes: everybody(),
  agora_sync_status: everybody(),
  event_tail: everybody(),
  event_sink_enable: operators(() => ({ value: false })),
  event_sink_stats: operators(none),
  msg_send: ofWorkspace({ content: 'x' }),
  msg_list: everybody(({ workspace }) => ({ channel: `ws:${workspace}:ops` })),
  msg_subscribe: ofWorkspace(),
  forum_publish: {
    args: ({ workspace }) => ({ title: 'x', content: 'x', workspace }),
    viewer: 'published:true',
    admin: 'published:true',
    stranger: 'published:false',
  },
  forum_list: everybody(),
  forum_message: everybody(({ agent }) => ({ agent, content: 'x' })),
  forum_enter: everybody(),
  forum_vote: members(
    ({ workspace }) => ({ proposal: 'x', scope: { owner: `workspace:${workspace}` } }),
    'E_SCOPE',
    (fresh) => ({ proposal: 'x', scope: { owner: `workspace:${fresh}` } }),
  ),
  forum_castVote: everybody((_tenant, fresh) => ({ voteId: `forum-${fresh}`, choice: 'yes' })),
  forum_decisions: everybody((_tenant, fresh) => ({ thread: fresh })),
  forum_thread_links: everybody(),
  forum_status: everybody(),
};
