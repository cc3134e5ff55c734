/** What the brain promises of commits beside a person's git. */
export const BRAIN_COMMITS = {
  'brain:commit:side-by-side': [
    'amendment M3',
    "A person's commit loop and an agent's, both only adding: no path is ever missing at the tip, the history is sound, the status clean.",
  ],
  'brain:commit:by-hand': ['amendment M3', 'A commit by hand is told as brain:save, by its author.'],
  'brain:commit:much': ['amendment M6', 'A commit of many files is told as brain:progress while it goes on.'],
  'brain:commit:held-index': [
    'amendment M3',
    "While another git holds the index, a commit is E_BUSY and names the lock; afterwards it works, and the person's staged files stay staged.",
  ],
  'brain:attributes:person': [
    'amendment M4',
    "A person's git diff shows lines of Markdown, and git merge merges changes of different lines.",
  ],
} as const;
