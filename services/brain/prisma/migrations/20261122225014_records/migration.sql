-- CreateTable
CREATE TABLE "brain"."brain_resolutions" (
    "brain_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "file" TEXT NOT NULL,
    "change" TEXT NOT NULL,
    "changed_by" TEXT NOT NULL,
    "by" TEXT,
    "branch" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_resolutions_pkey" PRIMARY KEY ("brain_id","id")
);

-- CreateTable
CREATE TABLE "brain"."brain_citations" (
    "brain_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "commit" TEXT NOT NULL,
    "verified" BOOLEAN NOT NULL,
    "context" TEXT NOT NULL,
    "context_hash" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_citations_pkey" PRIMARY KEY ("brain_id","id")
);

-- CreateIndex
CREATE INDEX "brain_resolutions_brain_id_file_id_idx" ON "brain"."brain_resolutions"("brain_id", "file", "id");

-- CreateIndex
CREATE UNIQUE INDEX "brain_citations_brain_id_commit_verified_context_hash_key" ON "brain"."brain_citations"("brain_id", "commit", "verified", "context_hash");
