package agenttool

import "fmt"

// Artifact is an artifact of the session.
type Artifact struct {
	// Name is a relative path such as plots/one.png.
	Name string
	// MediaType is the media type, such as text/csv.
	MediaType string
	// Size is the size in bytes.
	Size uint64
}

// ArtifactFailure is the reason why a function for artifacts failed.
type ArtifactFailure int

const (
	// ArtifactNotFound says that no artifact has the name.
	ArtifactNotFound ArtifactFailure = iota
	// ArtifactDenied says that the tool has no grant for artifacts, or only one to read.
	ArtifactDenied
	// ArtifactInvalidName says that the name is absolute, too long, leads out, or is in results/.
	ArtifactInvalidName
	// ArtifactInvalidMediaType says that the media type is malformed, or does not agree with the
	// bytes.
	ArtifactInvalidMediaType
	// ArtifactTooLarge says that the artifact is larger than one call may move.
	ArtifactTooLarge
	// ArtifactQuotaExceeded says that the artifacts of the session have used up their quota.
	ArtifactQuotaExceeded
)

// artifactTexts are the texts of the failures, in their order, with a place for the name.
var artifactTexts = [...]string{
	"there is no artifact `%s`",
	"`%s` is denied: the tool has no grant for artifacts, or only one to read",
	"`%s` cannot be the name of an artifact: it must be a relative path such as `plots/one.png`, and not in `results/`",
	"the media type of the artifact `%s` is malformed, or does not agree with its bytes",
	"the artifact `%s` is larger than one call may move",
	"the artifact `%s` cannot be kept: the artifacts of the session have used up their quota",
}

// ArtifactError is the error of the functions for artifacts. Returned by a tool, its text is for
// the model.
type ArtifactError struct {
	// Failure is the reason.
	Failure ArtifactFailure
	// Name is the name of the artifact, or artifacts for ListArtifacts.
	Name string
}

// Error makes an ArtifactError an error.
func (e *ArtifactError) Error() string {
	return fmt.Sprintf(artifactTexts[e.Failure], e.Name)
}

// ListArtifacts lists the artifacts of the session as they were when the call began, with this
// call's changes, sorted by name. Its error, like those of the functions below, is an
// *[ArtifactError].
func ListArtifacts() ([]Artifact, error) {
	return listArtifacts()
}

// GetArtifact returns the bytes of an artifact.
func GetArtifact(name string) ([]byte, error) {
	return getArtifact(name)
}

// PutArtifact stores an artifact, in place of one with its name. It is kept once the call has
// succeeded, and not at all otherwise.
func PutArtifact(name, mediaType string, data []byte) error {
	return putArtifact(name, mediaType, data)
}

// DeleteArtifact deletes an artifact, once the call has succeeded.
func DeleteArtifact(name string) error {
	return deleteArtifact(name)
}
