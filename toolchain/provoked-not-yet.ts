/**
 * What was declared before anything held the tests to it, and is not known to be provoked: nothing may be added. A whole run
 * says what it provoked all the same; that is then taken off.
 */
export const NOT_PROVOKED: Readonly<Record<string, readonly string[]>> = {
  svc_conflict_resolve: ['E_BRANCH_ABSENT', 'E_LIMIT', 'E_FILE_ABSENT', 'VAF_PATH_BLOCKED', 'E_ISLAND_WRITE_DENIED'],
  svc_sync: ['E_SYNC_CONFLICT'],
  svc_stego_encode: ['E_STATE_WRITE'],
  svc_brain_restore: ['E_STATE_WRITE'],
  qos_canProceed: ['SERVICE_UNAVAILABLE'],
  qos_recordFailure: ['SERVICE_UNAVAILABLE'],
  svc_habitat_setWorkspace: ['SERVICE_UNAVAILABLE'],
  svc_habitat_setPolicy: ['E_BUSY'],
  svc_agent_spawn: ['AGENT_NOT_FOUND', 'E_NOT_FOUND'],
  teams_confirmOrg: ['E_PARENT_REQUIRED', 'E_AMBIGUOUS'],
  teams_createDept: ['E_AMBIGUOUS'],
  teams_listDepts: ['E_AMBIGUOUS'],
};

export const NOT_HEARD: readonly string[] = [
  'brain:progress',
  'audit:broken',
  'escrow:refunded',
  'escrow:frozen',
  'escrow:repaired',
];
