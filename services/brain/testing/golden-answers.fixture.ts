/** Prints what every node has to answer alike. */
import { goldenAnswers } from './golden-search.ts';

process.stdout.write(`${goldenAnswers()}\n`);
