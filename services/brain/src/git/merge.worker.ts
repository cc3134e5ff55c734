/** A thread that merges the versions of one text after the other. */
import { mergeFile } from '../domain/merge/file.ts';
import { answerQuestions } from '../thread/answer-questions.ts';

answerQuestions(mergeFile);
