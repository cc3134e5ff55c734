-- CreateTable
CREATE TABLE "brain"."brain_remotes" (
    "name" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "brain" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_remotes_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE UNIQUE INDEX "brain_remotes_id_key" ON "brain"."brain_remotes"("id");

-- CreateIndex
CREATE INDEX "brain_remotes_brain_idx" ON "brain"."brain_remotes"("brain");
