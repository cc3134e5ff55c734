/** Tools of the rooms at the edge of the deployment. */
import { bootTools } from '../boot/tools.ts';
import { connectorTools } from '../connectors/tools.ts';

import { remoteTools } from '../remote/tools.ts';

import { sandboxStatus } from '../sandbox-status.ts';
import { shellTools } from '../shell/tools.ts';

export const doorTools = [...shellTools, sandboxStatus, ...connectorTools, ...remoteTools, ...bootTools];
