-- CreateTable
CREATE TABLE "agora"."forum_votes" (
    "topic" TEXT NOT NULL,
    "thread" TEXT,
    "proposal" TEXT NOT NULL,
    "owed" TEXT,
    "ordinal" BIGSERIAL NOT NULL,
    "tried_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "forum_votes_pkey" PRIMARY KEY ("topic")
);

-- CreateIndex
CREATE INDEX "forum_votes_thread_ordinal_idx" ON "agora"."forum_votes"("thread", "ordinal");
