/** Every tool of the registry. */
import type { Tool } from '@svc/contract/tool.ts';
import type { HabitatDeps } from '../deps.ts';
import { agentTools } from './agents.ts';
import { auditTools } from './audit.ts';
import { authTools } from './auth.ts';
import { delegationTools } from './delegation.ts';
import { governanceTools } from './governance.ts';
import { identityTools } from './identities.ts';
import { policyTools } from './policies.ts';
import { policyChangeTools } from './policy-changes.ts';
import { prototypeTools } from './prototypes.ts';
import { sudoAgentTools } from './sudo-agents.ts';
import { sudoOverviewTools } from './sudo-overview.ts';
import { sudoTaskTools } from './sudo-tasks.ts';
import { successionTools } from './succession.ts';
import { teamListingTools } from './team-listings.ts';
import { teamTools } from './teams.ts';
import { tokenTools } from './tokens.ts';
import { trustTools } from './trust.ts';
import { workspaceRoleTools } from './workspace-roles.ts';
import { workspaceTools } from './workspaces.ts';

export const habitatTools: readonly Tool<HabitatDeps>[] = [
  ...workspaceTools,
  ...workspaceRoleTools,
  ...policyTools,
  ...policyChangeTools,
  ...identityTools,
  ...tokenTools,
  ...authTools,
  ...agentTools,
  ...delegationTools,
  ...prototypeTools,
  ...teamTools,
  ...teamListingTools,
  ...trustTools,
  ...sudoTaskTools,
  ...sudoAgentTools,
  ...sudoOverviewTools,
  ...governanceTools,
  ...auditTools,
  ...successionTools,
];
