import type { OperationOf } from '@svc/contract/operation.ts';
import type { HABITAT } from '@svc/contract/operations.habitat.ts';
import { crewOperations } from './crews.ts';
import type { HabitatHandlers } from './handlers.ts';
import { identityOperations } from './identities.ts';
import { recordOperations } from './records.ts';
import { settingOperations } from './settings.ts';
import { sudoOperations } from './sudo.ts';
import { teamOperations } from './teams.ts';
import { trustOperations } from './trust.ts';
import { workspaceOperations } from './workspaces.ts';

export const habitatOperations: HabitatHandlers<OperationOf<typeof HABITAT>> = {
  ...crewOperations,
  ...identityOperations,
  ...recordOperations,
  ...settingOperations,
  ...sudoOperations,
  ...teamOperations,
  ...trustOperations,
  ...workspaceOperations,
};
