/** A thread that hides and seeks one message after the other. */
import { answerQuestions } from '../thread/answer-questions.ts';
import { doStegoWork } from './stego-work.ts';

answerQuestions(doStegoWork);
