import type { Tool } from '@svc/contract/tool.ts';
import type { AgoraDeps } from '../deps.ts';
import { eventTools } from '../event-log/tools/events.ts';
import { nodeTools } from '../federation/tools/nodes.ts';
import { syncTools } from '../federation/tools/sync.ts';
import { consensusTools } from '../ledger/tools/consensus.ts';
import { postTools } from '../forum/tools/posts.ts';
import { threadTools } from '../forum/tools/threads.ts';
import { voteTools } from '../forum/tools/votes.ts';
import { statusTools } from '../forum/tools/status.ts';
import { messageTools } from '../messages/tools.ts';

export const allTools: readonly Tool<AgoraDeps>[] = [
  ...consensusTools,
  ...syncTools,
  ...nodeTools,
  ...messageTools,
  ...postTools,
  ...voteTools,
  ...threadTools,
  ...statusTools,
  ...eventTools,
];
