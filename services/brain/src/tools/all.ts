/** Every tool of the brain, in the order of its guide. */
import { contextTools } from '../context/tools/context.ts';
import { heartbeatTools } from '../context/tools/heartbeat.ts';
import { geoTools } from '../addresses/tools/geo.ts';
import { geometryTools } from '../addresses/tools/geometry.ts';
import { objectTools } from '../addresses/tools/objects.ts';
import { lineageTools } from '../lineage/tools/lineage.ts';
import { learnedTools } from '../memory/tools/learned.ts';
import { stateTools } from '../memory/tools/state.ts';
import { wholeMemoryTools } from '../memory/tools/whole.ts';
import { prototypeTools } from '../skills/tools/prototypes.ts';
import { stegoTools } from '../stego/tools/stego.ts';
import { storageTools } from '../storage/tools/storage.ts';
import { tmpTools } from '../tmp/tools/all.ts';
import { embeddingTools } from '../embedding/tools.ts';
import { citationTools } from '../records/tools/citations.ts';
import { resolutionTools } from '../records/tools/resolutions.ts';
import { rerankTools } from '../retrieval/tools/rerank.ts';
import { searchTools } from '../retrieval/tools/search.ts';
import { backupTools } from '../backup/tools/backups.ts';
import { branchMergeTools } from './branch-merge.ts';
import { brainTools as wholeBrainTools } from './brains.ts';
import { branchTools } from './branches.ts';
import { conflictTools } from './conflicts.ts';
import { configTools } from '../config/tools/config.ts';
import { fileTools } from './files.ts';
import { historyTools } from './history.ts';
import { healthTools } from './health.ts';
import { islandStatusTools } from './island-status.ts';
import { islandTools } from './islands.ts';
import { islandWriteTools } from './island-writes.ts';
import { listingTools } from './listings.ts';
import { lockTools } from './lock.ts';
import { memoryTools } from './memory.ts';
import { noteTools } from './notes.ts';
import { evolutionTools } from '../evolution/tools/evolution.ts';
import { discoveryTools } from '../discovery/tools/discover.ts';
import { attentionTools } from '../relations/tools/attention.ts';
import { insightTools } from '../relations/tools/insights.ts';
import { linkTools } from '../relations/tools/links.ts';
import { stateTools as brainStateTools } from '../relations/tools/state.ts';
import { sessionTools } from './session.ts';
import { stackTools } from './stack.ts';
import { remoteSyncTools } from '../sync/tools/remotes.ts';
import { severalSyncTools } from '../sync/tools/several.ts';
import { syncTools } from './sync.ts';

export const brainTools = [
  ...memoryTools,
  ...searchTools,
  ...rerankTools,
  ...embeddingTools,
  ...branchTools,
  ...branchMergeTools,
  ...conflictTools,
  ...lockTools,
  ...syncTools,
  ...severalSyncTools,
  ...remoteSyncTools,
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
  ...resolutionTools,
  ...citationTools,
  ...brainStateTools,
  ...linkTools,
  ...attentionTools,
  ...discoveryTools,
  ...insightTools,
  ...evolutionTools,
  ...stateTools,
  ...learnedTools,
  ...wholeMemoryTools,
  ...objectTools,
  ...geoTools,
  ...geometryTools,
  ...lineageTools,
  ...storageTools,
  ...stegoTools,
  ...backupTools,
  ...noteTools,
  ...prototypeTools,
  ...contextTools,
  ...heartbeatTools,
  ...tmpTools,
];
