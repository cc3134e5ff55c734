-- CreateTable
CREATE TABLE "brain"."brain_contexts" (
    "session_key" TEXT NOT NULL,
    "built" JSONB NOT NULL,
    "hits" BIGINT NOT NULL,
    "misses" BIGINT NOT NULL,
    "built_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_contexts_pkey" PRIMARY KEY ("session_key")
);

-- CreateIndex
CREATE INDEX "brain_contexts_built_at_idx" ON "brain"."brain_contexts"("built_at");
