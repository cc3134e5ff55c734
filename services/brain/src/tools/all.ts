/** Every tool of the brain, in the order of its guide. */
import { branchMergeTools } from './branch-merge.ts';
import { brainTools as wholeBrainTools } from './brains.ts';
import { branchTools } from './branches.ts';
import { conflictTools } from './conflicts.ts';
import { configTools } from './config.ts';
import { fileTools } from './files.ts';
import { historyTools } from './history.ts';
import { healthTools } from './health.ts';
import { islandStatusTools } from './island-status.ts';
import { islandTools } from './islands.ts';
import { islandWriteTools } from './island-writes.ts';
import { listingTools } from './listings.ts';
import { lockTools } from './lock.ts';
import { memoryTools } from './memory.ts';
import { searchTools } from './search.ts';
import { sessionTools } from './session.ts';
import { stackTools } from './stack.ts';
import { syncTools } from './sync.ts';

export const brainTools = [
  ...memoryTools,
  ...searchTools,
  ...branchTools,
  ...branchMergeTools,
  ...conflictTools,
  ...lockTools,
  ...syncTools,
  ...healthTools,
  ...islandTools,
  ...islandWriteTools,
  ...islandStatusTools,
  ...fileTools,
  ...listingTools,
  ...stackTools,
  ...sessionTools,
  ...wholeBrainTools,
  ...historyTools,
  ...configTools,
];
