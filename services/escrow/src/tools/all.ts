import { escrowTools } from './escrow.ts';
import { poolTools } from './pools.ts';
import { qosTools } from './qos.ts';

export const allTools = [...escrowTools, ...poolTools, ...qosTools];
