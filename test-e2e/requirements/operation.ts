/** What operators do with a running cluster. */
export const OPERATION = {
  'operation:backup': [
    'docs/operations.md, backup and restore',
    'A backup taken while callers log to the audit and make budgets restores to another place: the audit verifies, tokens, files and balances are those of the backup.',
  ],
  'operation:roll': [
    'docs/operations.md, rolling update',
    'The script replaces the processes of every role one by one while clients call, and no call fails.',
  ],
  'operation:new-service': [
    'docs/architecture.md, a new service in one page',
    'A service that is nothing but its own files and an entry in the list of services is started like all others: its tool is called, its event is heard, another service asks it, its job runs.',
  ],
  'guides:operations': [
    'docs/operations.md',
    'Every command of the guide that needs no container works when pasted: start of a cluster, backup, restore, rolling update.',
  ],
} as const;
