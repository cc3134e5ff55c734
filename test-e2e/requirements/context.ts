/** What contexts and vectors promise. */
export const CONTEXT = {
  'context:budget': [
    'context acceptance 1',
    'A context is never over its budget, its citations hold at the quoted commit, and unchanged it is the same bytes, from memory.',
  ],
  'context:breakpoints': [
    'context acceptance 2',
    'A word more in a file that is found changes the hash of knowledge and leaves those of notes and islands.',
  ],
  'context:hidden': [
    'context acceptance 3',
    'Of an island or file that a subject may not read nothing is in its context, and no two subjects share one.',
  ],
  'context:brain': ['context acceptance 4', 'A context of one brain holds nothing of another on the stack.'],
  'context:session': [
    'brain context',
    'The last context of a session is inspected and built again through any gateway, also after other sessions built theirs.',
  ],
  'context:attention': [
    'brain context',
    'Without a query a context begins with the files that got most attention, and islands bring the files of their sources.',
  ],
  'context:heartbeat': [
    'brain context',
    'A session has its last context built again from time to time until it stops that; every gateway tells the same of it.',
  ],
  'embed:builtin': [
    'embeddings acceptance 1',
    'The built-in vectors have 512 numbers and length 1, nothing is near nothing, and alike words are nearer than others.',
  ],
} as const;
