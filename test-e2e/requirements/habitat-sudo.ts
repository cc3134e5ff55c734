/** Scopes that agents and tasks get for a while. */
export const HABITAT_SUDO = {
  'habitat:sudo:pending': [
    'sudo acceptance 1',
    'Asking for admin waits for a grant: granted false, pending true, and not held until an operator grants it.',
  ],
  'habitat:sudo:revoke': [
    'sudo acceptance 2',
    'What an operator grants is held through every gateway with its end, and after a revoke by none at the next request.',
  ],
  'habitat:sudo:self': ['sudo acceptance 3', 'An agent that grants a scope to itself is FORBIDDEN, an admin too.'],
  'habitat:sudo:parts': [
    'sudo acceptance 4',
    'network covers network:x.org and not exec; network:x.org covers neither network:y.org nor network.',
  ],
  'habitat:sudo:unknown-task': [
    'sudo acceptance 5',
    'Granting to a task that is not there, or is not seen, is E_SUDO_TASK_ABSENT and creates nothing.',
  ],
  'habitat:sudo:nobody-else': [
    'sudo acceptance 6',
    'What an agent is granted opens nothing for another agent, nor for a task of its child.',
  ],
  'habitat:sudo:rate': [
    'sudo acceptance 7',
    'The 21st escalation of a task within a minute is E_RATE_LIMIT, also through two gateways at once.',
  ],
  'habitat:sudo:restart': [
    'sudo acceptance 8',
    'A grant stands with its end after every process of the registry was killed and started again.',
  ],
  'habitat:sudo:race': [
    'sudo acceptance 9',
    'Of an approval and a denial at once one wins; the other is told no, and the request says who ended it.',
  ],
  'habitat:sudo:events': [
    'sudo events',
    'A request is told to the admins of the workspace, a grant to the owner of the task and the granter.',
  ],
} as const;
